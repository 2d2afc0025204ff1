# The commands that people look for; each says what it runs. `make` alone lists them.
PYTHON ?= python3
BIN := .venv-tests/bin

.PHONY: help install test slow soak lint types generated papers nightly site docs examples ci

help:
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 20

$(BIN)/pytest: requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv-tests
	$(BIN)/pip install --quiet --constraint requirements.lock --editable '.[dev,plot]' --editable ./benchmarks
	touch $@

$(BIN)/mkdocs: $(BIN)/pytest
	$(BIN)/pip install --quiet --constraint requirements.lock --editable '.[dev,docs,plot]' --editable ./benchmarks
	touch $@

install: $(BIN)/pytest ## an environment in .venv-tests with all that development needs, and the git hooks
	$(BIN)/pre-commit install

test: $(BIN)/pytest ## the fast tests
	$(BIN)/pytest -n 2

slow: $(BIN)/pytest ## the slow tests, as the continuous integration runs them
	$(BIN)/pytest -n 2 -m slow

soak: $(BIN)/pytest ## thousands of random cases of everything; takes long
	$(BIN)/pytest -n 2 -m soak

lint: $(BIN)/pytest ## what the git hooks check: ruff, mypy --strict, generated files
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/pre-commit run --all-files

types: $(BIN)/pytest ## mypy --strict alone
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/types

generated: $(BIN)/pytest ## write the schemas, the library and the figures of the docs anew
	$(BIN)/python -m spotbag_papers.generated

papers: $(BIN)/pytest ## check the pages of the docs on the papers (replays of many minutes)
	$(BIN)/python -m spotbag_papers.generated --check --papers

nightly: $(BIN)/pytest ## figures of spotbag itself as a page that the site links to: speeds, gaps of the library, open instances
	rm -rf .cache/nightly
	$(BIN)/spotbag experiment run nightly --out .cache/nightly --workers 2
	$(BIN)/spotbag report .cache/nightly --out .cache/nightly.html

site: $(BIN)/mkdocs ## build the documentation site into site/; nothing is fetched
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/site

docs: $(BIN)/mkdocs ## serve the documentation site at http://127.0.0.1:8000, and anew when a page changes
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

examples: $(BIN)/pytest ## run the scripts of examples/; the site runs the notebooks
	PATH="$(CURDIR)/$(BIN):$$PATH" .ci/examples

ci: ## everything that must hold before a change lands, in a fresh clone and environment
	.ci/run
