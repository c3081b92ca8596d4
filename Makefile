# Every target makes .venv by itself, once, and again when pyproject.toml or PYTHON changes.
#   make test PYTHON=python3.12
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ARGS ?=

# One stamp for each set of dependencies; it names the interpreter, so that another interpreter makes another environment.
DEV := $(VENV)/.dev-$(subst /,_,$(PYTHON))
RUN := $(VENV)/.run-$(subst /,_,$(PYTHON))

# $(call make_venv,extra): a fresh environment with the package, editable, and one extra. Only errors are shown.
define make_venv
	@echo "making $(VENV) with .[$(1)]"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(BIN)/python -m pip install -qq --disable-pip-version-check --editable '.[$(1)]'
	@touch $@
endef

.NOTPARALLEL:
.PHONY: help demo test lint bench clean

help:
	@echo "make demo    run the quickstart example"
	@echo "make test    tests, doctests and the coverage gate"
	@echo "make lint    ruff check, ruff format --check, mypy"
	@echo "make bench   benchmarks"
	@echo "make clean   remove .venv, caches and build output"

# The demo needs little: it takes the development environment when there is one, else makes a small one.
demo: $(or $(wildcard $(DEV)),$(RUN))
	@$(BIN)/python examples/quickstart.py

test: $(DEV)
	$(BIN)/python -m pytest --cov $(ARGS)

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(DEV)
	@$(BIN)/python -m tests.benchmarks $(ARGS)

$(DEV): pyproject.toml
	$(call make_venv,dev)

$(RUN): pyproject.toml
	$(call make_venv,cli)

clean:
	rm -rf $(VENV) build dist htmlcov .coverage .coverage.* .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find toolbox tests docs examples -name __pycache__ -type d -prune -exec rm -rf {} +
