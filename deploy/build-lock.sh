#!/usr/bin/env sh
# Prints what building Fettle's own wheel needs, with hashes: the build backend of pyproject.toml
# and its dependencies, out of requirements/dev.lock.
set -eu
cd "$(dirname "$0")/.."
awk '/^[a-z]/ { keep = /^(hatchling|packaging|pathspec|pluggy|tomlkit|trove-classifiers)==/ } keep' \
    requirements/dev.lock
