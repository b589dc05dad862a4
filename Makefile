# Two commands for newcomers: `make demo` and `make test`. People who stay use nox.
PYTHON ?= python3
BIN := .venv/bin

# Many tests start Python: compiled modules are kept. pip would compile those that nobody imports.
export PYTHONDONTWRITEBYTECODE :=
INSTALL := $(BIN)/python -m pip install --quiet --no-compile

.PHONY: demo test clean

demo: .venv/demo.stamp
	@$(BIN)/smfeval demo --html demo.html --force
	@echo "the page, to be opened in a browser: $(CURDIR)/demo.html"

test: .venv/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	MYPY_NUM_WORKERS=2 $(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist loadfile

.venv/bin/python:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

BUILT := pyproject.toml hatch_build.py src/smfeval/io/rows.c

.venv/demo.stamp: $(BUILT) | .venv/bin/python
	$(INSTALL) --editable .
	@touch $@

.venv/dev.stamp: $(BUILT) lab/pyproject.toml | .venv/bin/python
	$(INSTALL) --editable . --editable ./lab --group dev
	@touch $@ .venv/demo.stamp

clean:
	rm -rf .venv build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis demo.html
