"""`python -m smfeval`: the program, where its script is not on the path."""

from smfeval.cli.main import run

if __name__ == "__main__":
    run()
