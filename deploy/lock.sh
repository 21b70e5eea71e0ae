#!/usr/bin/env bash
# Writes requirements/*.lock from pyproject.toml: every package of every Python from 3.11 on, with
# its hashes. What is locked keeps its version; `deploy/lock.sh --upgrade` takes the newest.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
upgrade=${1:-}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header ${upgrade:+"$upgrade"} "$@"
}
mkdir -p requirements
compile pyproject.toml --output-file requirements/base.lock
# Nobody installs into an image: with every provider's library, 30 MB of 280, a model is a matter of its
# key alone. Both images are made from one environment, and the API's runs Flower, too.
extras=(openai anthropic deepseek ollama openrouter mistral azure docker s3 flower)
compile pyproject.toml "${extras[@]/#/--extra=}" --constraints requirements/base.lock --output-file requirements/images.lock
# For `make demo` and `make up`: every extra, and the tools that install this checkout itself.
compile pyproject.toml --all-extras --group build --constraints requirements/images.lock --output-file requirements/service.lock
compile pyproject.toml --all-extras --group dev --group build --group installer --constraints requirements/service.lock \
    --output-file requirements/dev.lock
compile --group build --constraints requirements/service.lock --output-file requirements/build.lock
compile --group installer --constraints requirements/dev.lock --output-file requirements/installer.lock
compile --group sandbox --output-file requirements/sandbox.lock
compile --group sandbox-extra --constraints requirements/sandbox.lock --output-file requirements/sandbox-extra.lock
