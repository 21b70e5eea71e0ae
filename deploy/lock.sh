#!/usr/bin/env bash
# Writes requirements/*.lock anew: every package of every Python from 3.11 on, with its hashes.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --upgrade "$@"
}
providers=(openai anthropic deepseek ollama openrouter)
mkdir -p requirements
# The images take base.lock and have no pip: with every provider's library, 30 MB of 280, a model
# is a matter of its key alone.
compile pyproject.toml "${providers[@]/#/--extra=}" --output-file requirements/base.lock
compile pyproject.toml --all-extras --group dev --group build --constraints requirements/base.lock --output-file requirements/dev.lock
compile --group build --constraints requirements/dev.lock --output-file requirements/build.lock
compile --group sandbox --output-file requirements/sandbox.lock
