# Fettle's front door. `make demo` shows it at work, `make test` proves it, `make up` runs it.
SHELL := /bin/bash
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help service install sandbox-extra lock types demo up check format test test-all test-packages faults attacks screenshots size clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

service:  ## make the locked environment in .venv for `make demo` and `make up`; PYTHON=python3.12 names the interpreter
	@PYTHON='$(PYTHON)' deploy/install.sh $(VENV)

install:  ## the same, with the laboratory (lab/) and the tools of tests and checks
	@PYTHON='$(PYTHON)' deploy/install.sh $(VENV) dev

sandbox-extra: install  ## make .venv/sandbox-extra: more packages for the code in sandboxes
	@deploy/install.sh $(VENV) dev sandbox-extra

lock:  ## write the lock files from pyproject.toml; ARGS=--upgrade takes the newest versions
	deploy/lock.sh $(ARGS)

types:  ## write the types of the Python client from the API's schemas, and fettle/_sync from fettle/_async
	@$(BIN)/python deploy/client_types.py
	@$(BIN)/python deploy/client_code.py

demo: service  ## run five jobs through the whole service, and show them
	@$(BIN)/fettle demo

up: service  ## run everything for daily use: API on :8000, a worker, Flower on :5555; reads ./fettle.toml
	@$(BIN)/fettle $(if $(wildcard fettle.toml),--config fettle.toml) up

check: install  ## format, lint, strict types, import contracts, licences
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file tests/mypy.ini  # stale calls and names in tests
	$(BIN)/lint-imports
	@for python in $(BIN)/python $(wildcard $(VENV)/sandbox*/bin/python); do \
	    $(BIN)/pip-licenses --python $$python >/dev/null || exit 1; \
	done

format: install  ## put the code in order
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

test test-all faults: export PYTHONDONTWRITEBYTECODE :=  # tests start hundreds of interpreters
test: test-packages  ## run the sharpest test of each promise; not as root: without docker
	$(BIN)/pytest --sharpest --numprocesses 2 --dist loadfile --no-loadscope-reorder
	@echo 'left out: the full matrices and the laboratory (make test-all), faults (make faults)'

test-all: test-packages sandbox-extra  ## run all tests but the faults: the matrices and the laboratory (lab/), too
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder
	$(BIN)/pytest tests/tools --numprocesses 2 --dist loadfile

test-packages: install
	@command -v bwrap >/dev/null || deploy/packages.sh bubblewrap
	@command -v chromium >/dev/null || deploy/packages.sh chromium
	@/sbin/ldconfig -p | grep -q libatomic.so.1 || deploy/packages.sh libatomic1  # Playwright's driver
	@command -v ssh >/dev/null || deploy/packages.sh openssh-client

faults: install  ## break processes, Redis, network and clocks, and check every invariant; ARGS=-x
	@deploy/packages.sh bubblewrap faketime
	$(BIN)/pytest tests/faults --numprocesses 2 --dist loadfile --durations=15 $(ARGS)

attacks: install  ## try the attack suite on both backends; ARGS=--json; not as root: only on local
	@if [ "$$(id -u)" = 0 ] || [ -n "$$FETTLE_SANDBOX_ENGINE" ]; then \
	    $(BIN)/fettle attack --backend local --backend docker --own-engine $(ARGS); \
	else \
	    echo "not root, and FETTLE_SANDBOX_ENGINE names no engine: only on local" >&2; \
	    $(BIN)/fettle attack --backend local $(ARGS); \
	fi

screenshots: install  ## take the README's pictures of the pages, from real jobs
	@command -v chromium >/dev/null || deploy/packages.sh chromium
	$(BIN)/python deploy/screenshots.py
	TEST_PICTURES=docs/images $(BIN)/pytest -q -n0 tests/e2e/test_follow_ups.py -k pages

size:  ## count the files and lines of Python in each folder
	@deploy/size.py

clean:  ## remove the files that the other targets made, and the jobs of `make up`
	rm -rf $(VENV) .fettle .hypothesis wheelhouse .*_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
