# Every target sets up what it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
.PHONY: help setup demo test check docs pictures lowest oldest bench reproduce fuzz stress browser kills postgres clean

help: ## list the targets
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-9s %s\n", $$1, $$2}'

setup: $(READY) ## make .venv, install everything pinned, see to Java 17 or newer

$(READY): pyproject.toml constraints.txt scripts/setup.sh
	@bash scripts/setup.sh "$(PYTHON)" "$(VENV)"
	@touch $(READY)

demo: $(READY) ## run the flights pipeline on a year of real data
	@$(BIN)/python examples/flights/demo.py

test: $(READY) ## run the whole test suite, documentation examples included
	@bash scripts/test.sh "$(BIN)"

check: $(READY) ## lint, formatting, types (of tests and benchmarks, too), import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

docs: $(READY) $(VENV)/.docs ## build the site in out/site: strict, every link checked, nothing loaded from elsewhere
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@$(BIN)/python scripts/site/check.py out/site

$(VENV)/.docs: $(READY)
	@$(BIN)/uv pip install --quiet --no-cache --python $(BIN)/python -c constraints.txt -r pyproject.toml --extra docs
	@touch $@

pictures: $(READY) ## make the pictures of the documentation anew, from the code of its pages
	@PYTHONPATH=tests $(BIN)/python -m pages

lowest: $(READY) ## try the lowest versions that pyproject.toml allows, in an environment of their own
	@bash scripts/lowest.sh "$(BIN)" "$(VENV)-lowest"

oldest: $(READY) ## try the Spark engine on the oldest PySpark that is supported, or on another: make oldest VERSION=4.2
	@bash scripts/oldest.sh "$(BIN)" "$(VENV)-oldest" $(VERSION)

bench: $(READY) ## run the benchmarks against peers and write a table of ratios
	@$(BIN)/python -m benchmarks

reproduce: $(READY) ## run the papers' experiments again, with pictures and verdicts: make reproduce SCALE=full
	@$(BIN)/python -m benchmarks.reproduce --scale $(or $(SCALE),small)

fuzz: $(READY) ## random calls, laws, texts and files against the reference: make fuzz MINUTES=10 SEED=1
	@PYTHONPATH=tests $(BIN)/python -m fuzz --minutes $(or $(MINUTES),5) $(if $(SEED),--seed $(SEED))

stress: $(READY) ## threads against every public class: make stress MINUTES=10
	@PYTHONPATH=tests $(BIN)/python -m threads --minutes $(or $(MINUTES),5)

browser: $(READY) ## look at every kind of report in a browser; pictures of them go to out/browser
	@TIMELOOM_SCREENSHOTS=out/browser $(BIN)/python -m pytest -m browser tests/report

kills: $(READY) ## kill -9 a running stream at random instants and look for lost events: make kills TIMES=20 SEED=1
	@PYTHONPATH=tests $(BIN)/python -m kills --times $(or $(TIMES),20) $(if $(SEED),--seed $(SEED))

postgres: $(READY) ## write a pipeline's result to a real PostgreSQL: apt-get install postgresql libpostgresql-jdbc-java
	@$(BIN)/python -m pytest -m postgres tests/pipeline

clean: ## remove the environment and all caches
	@rm -rf $(VENV) $(VENV)-lowest $(VENV)-oldest .mypy_cache .ruff_cache out
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
