#!/usr/bin/env bash
# Builds the image of the sandboxes of the backend `docker` on the engine that DOCKER_HOST names: the
# sandbox's Python with its locked packages (requirements/sandbox.lock), Fettle's agent, no more.
#
#     deploy/sandbox-image.sh [NAME]      NAME is fettle-sandbox by default
#
# Without a registry (default): this machine's Python and the environment that `make install` made
# are packed and imported; 10 s. With one: FETTLE_BASE_IMAGE=python:3.11-slim-bookworm builds the
# same from deploy/Dockerfile, every package by its hash.
set -euo pipefail
cd "$(dirname "$0")/.."
exec "${FETTLE_PYTHON:-.venv/bin/python}" -m sandbox.docker build "$@"
