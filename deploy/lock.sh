#!/usr/bin/env bash
# Writes requirements/*.lock anew: every package of every Python from 3.11 on, with its hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --upgrade "$@"
}
mkdir -p requirements
compile pyproject.toml --output-file requirements/base.lock
compile pyproject.toml --all-extras --group dev --group build --constraints requirements/base.lock --output-file requirements/dev.lock
compile --group build --constraints requirements/dev.lock --output-file requirements/build.lock
compile --group sandbox --output-file requirements/sandbox.lock
