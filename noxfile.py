"""Sessions for people who stay: `nox -s lint types layers tests slow docs study bench same`."""

import nox

nox.options.default_venv_backend = "venv"
nox.options.sessions = ["lint", "types", "layers", "tests"]


def install(session: nox.Session, *groups: str) -> None:
    """Install smfeval and its lab in place, with dependency groups."""
    wanted = [word for group in groups for word in ("--group", group)]
    session.install("--upgrade", "pip>=25.1")
    session.install("--editable", ".", "--editable", "./lab", *wanted)


@nox.session
def lint(session: nox.Session) -> None:
    """Style and format."""
    install(session, "lint")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")


@nox.session
def types(session: nox.Session) -> None:
    """Strict types."""
    install(session, "lint")
    session.run("mypy")


@nox.session
def layers(session: nox.Session) -> None:
    """Imports go only downwards."""
    install(session, "lint")
    session.run("lint-imports")


@nox.session
def tests(session: nox.Session) -> None:
    """All tests except the slow ones."""
    install(session, "test")
    session.run("pytest", "-n", "2", "--dist", "loadfile", *session.posargs)


@nox.session
def slow(session: nox.Session) -> None:
    """Long simulations: interval coverage, false-alarm rate, power."""
    install(session, "test")
    session.run("pytest", "-n", "2", "-m", "slow", *session.posargs)


@nox.session
def fuzz(session: nox.Session) -> None:
    """Attacks by class for ten minutes, and how many of each: `-- --seconds 3600 --seed 7`."""
    install(session, "test")
    session.run("python", "-m", "support.attacks", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session
def study(session: nox.Session) -> None:
    """The study of four LiDAR filters on the tracks of the campaign, in full."""
    install(session)
    session.run("smfeval", "study", "lab/experiments/campaign.toml", *session.posargs)


@nox.session
def docs(session: nox.Session) -> None:
    """The site: every block of every page runs, and no link is broken. Built into site/."""
    install(session, "test", "docs")
    session.run("pytest", "-m", "", "tests/house/test_docs.py", *session.posargs)
    session.run("python", "docs/prepare.py")
    session.run("mkdocs", "build", "--strict", env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session
def schemas(session: nox.Session) -> None:
    """Renew the JSON schemas that the packages ship, from their classes."""
    install(session)
    session.run("python", "docs/schemas.py")


@nox.session
def bench(session: nox.Session) -> None:
    """Against peers, in about 20 minutes; renews BENCHMARK.md. `-- --quick` or `-- study`."""
    session.install(".", "./lab")
    session.run("python", "benchmarks/run.py", *session.posargs)


@nox.session
def walk(session: nox.Session) -> None:
    """Files and functions that `score`, `pair`, a study task and `lab run` go through."""
    install(session)
    session.run("python", "benchmarks/walk.py", *session.posargs)


@nox.session
def same(session: nox.Session) -> None:
    """Every number of every verb, against another commit: `nox -s same -- COMMIT`."""
    install(session)
    session.run("python", "benchmarks/same.py", *session.posargs)


@nox.session
def mutants(session: nox.Session) -> None:
    """Would a test notice? Random changes of operators and constants: `-- --count 30 --seed 1`."""
    install(session, "test")
    session.run("python", "benchmarks/mutants.py", *session.posargs)
