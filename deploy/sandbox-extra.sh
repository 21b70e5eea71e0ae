#!/usr/bin/env bash
# Makes $1/sandbox-extra: what $1/sandbox has for the code that models write, and the packages of the
# group `sandbox-extra` in pyproject.toml, all by their hashes. FETTLE_SANDBOX_PYTHON names its
# interpreter to a worker.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
extra=$venv/sandbox-extra
lock=requirements/sandbox-extra.lock
wanted=$(readlink -f "$venv/bin/python" && sha256sum "$lock")
[ "$(cat "$extra/.installed" 2>/dev/null)" != "$wanted" ] || exit 0
echo "installing more packages for sandboxes in $extra (a minute, 600 MB) ..."
"$venv/bin/python" -m venv --clear "$extra"
"$extra/bin/python" -m pip install --quiet --quiet --disable-pip-version-check \
    --require-hashes --no-deps --requirement "$lock"
printf '%s\n' "$wanted" >"$extra/.installed"
