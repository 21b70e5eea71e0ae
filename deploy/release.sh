#!/usr/bin/env bash
# Makes a release of this source in a directory of its own, for a machine without containers:
# DIRECTORY/venv has the locked service with Flower and all providers' libraries, DIRECTORY/sandbox has
# the packages that the code of models may import, and DIRECTORY/run starts the programs of the
# release. The release does not need this source any more.
#
#     deploy/release.sh /opt/fettle/2026-11-23                PYTHON=python3.12 names the interpreter
set -euo pipefail
source=$(cd "$(dirname "$0")/.." && pwd)
release=${1:?usage: deploy/release.sh DIRECTORY}
python=${PYTHON:-python3}
[ ! -e "$release" ] || { echo "fettle: $release is there already" >&2 && exit 1; }

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$python" -m venv "$scratch/tools" # pip and the build tools are not a part of the release
pip() {
    "$scratch/tools/bin/python" -m pip --quiet --quiet --disable-pip-version-check "$@"
}
pip install --require-hashes --no-deps --requirement "$source/requirements/build.lock"
cp -r "$source" "$scratch/source" # a build writes into its source, which may belong to another user
pip wheel --no-deps --no-build-isolation --wheel-dir "$scratch/dist" "$scratch/source" "$scratch/source/fettle"

umask 022
mkdir -p "$release"
for name in venv:images sandbox:sandbox; do
    "$python" -m venv --without-pip "$release/${name%:*}"
    pip --python "$release/${name%:*}/bin/python" install \
        --require-hashes --no-deps --requirement "$source/requirements/${name#*:}.lock"
done
pip --python "$release/venv/bin/python" install --no-index --no-deps "$scratch"/dist/*.whl
"$release/venv/bin/python" -m compileall -q "$release/venv" "$release/sandbox" || true
install --mode 0755 "$source/deploy/systemd/run" "$release/run"
echo "$release: $("$release/run" fettle --version)"
