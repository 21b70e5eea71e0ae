# Fettle's front door. `make demo` shows it at work, `make test` proves it, `make up` runs it.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help install lock demo up check format test clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

install: $(VENV)/.installed  ## make the locked environment in .venv

$(VENV)/.installed: deploy/install.sh requirements/dev.lock requirements/sandbox.lock pyproject.toml
	@PYTHON=$(PYTHON) deploy/install.sh $(VENV)

lock:  ## write the lock files anew from pyproject.toml
	deploy/lock.sh

demo: install  ## run four jobs through the whole house, and show them
	@$(BIN)/fettle demo

up: install  ## run everything for daily use: API on :8000, a worker, Flower on :5555
	@$(BIN)/fettle up

check: install  ## format, lint, strict types, import contracts
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install  ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test: install  ## pass all tests
	@deploy/packages.sh bubblewrap
	$(BIN)/pytest

clean:  ## remove what the other targets made
	rm -rf $(VENV) .fettle .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
