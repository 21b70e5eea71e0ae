#!/usr/bin/env bash
# Fills ./wheelhouse with all wheels of the images, after a check of their hashes. Then `docker build`
# needs no package index. This is for machines without access to an index, and for people who want to
# inspect the wheels. Run it with a Python of the same version and processor as the base image's.
#
#     PYTHON=python3.11 deploy/wheelhouse.sh
#
# With SANDBOX_PACKAGES=sandbox-extra, it also takes the additional packages for the code in sandboxes.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/venv"

rm -rf wheelhouse
mkdir wheelhouse
echo '*' >wheelhouse/.gitignore
for lock in requirements/{images,"${SANDBOX_PACKAGES:-sandbox}",build}.lock; do
    "$scratch/venv/bin/python" -m pip wheel --quiet --quiet --disable-pip-version-check \
        --require-hashes --no-deps --wheel-dir wheelhouse --requirement "$lock"
done
echo "wheelhouse: $(find wheelhouse -name '*.whl' | wc -l) wheels, $(du -sh wheelhouse | cut -f1)"
