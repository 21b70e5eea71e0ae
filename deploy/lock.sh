#!/usr/bin/env bash
# Writes requirements/*.lock from pyproject.toml: all packages with their hashes, for every Python from
# 3.11 on. Locked packages keep their versions; `deploy/lock.sh --upgrade` takes the newest versions.
# fettle-client is in this repository (fettle/): only its dependencies are locked.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=${UV:-.venv/bin/uv}
upgrade=${1:-}
compile() {
    "$uv" pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
        --no-annotate --no-header --no-emit-package fettle-client ${upgrade:+"$upgrade"} "$@"
}
mkdir -p requirements
compile pyproject.toml --output-file requirements/base.lock
# The images have the libraries of all providers (30 of 280 MB), because users do not install packages
# into an image: a model then needs only its key. Both images have the same environment; the image of
# the API also runs Flower.
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
