#!/usr/bin/env bash
# Builds the image of the sandboxes of the backend `docker` on the engine that DOCKER_HOST names. It
# has only the sandbox's Python with its locked packages (requirements/sandbox.lock) and Fettle's agent.
#
#     deploy/sandbox-image.sh [NAME]      NAME is fettle-sandbox by default
#
# By default, this packs and imports this machine's Python and the environment that `make install` made,
# without a registry, in 10 s. With a registry, FETTLE_BASE_IMAGE=python:3.11-slim-bookworm builds the
# same image from deploy/Dockerfile, and checks the hash of each package.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${FETTLE_PYTHON:-.venv/bin/python}" -m sandbox.docker build "$@"
