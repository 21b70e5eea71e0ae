#!/usr/bin/env bash
# Makes the locked environment: the service and its tools in $1, and in $1/sandbox what the code
# that models write may import. The two are apart, so that the sandbox never shows Fettle's own
# libraries to that code.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
python=${PYTHON:-python3}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "fettle needs Python 3.11 or newer; '$python' is not. Name one: make install PYTHON=python3.12" >&2
    exit 1
}

make_venv() {
    # Debian ships Python without ensurepip; its package python3-venv has it.
    "$python" -c 'import ensurepip' 2>/dev/null || deploy/packages.sh python3-venv
    [ -x "$1/bin/python" ] || "$python" -m venv "$1"
}

install_locked() {
    "$1/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes --requirement "$2"
}

echo "installing the locked environment in $venv (a minute or two, once) ..."
make_venv "$venv"
install_locked "$venv" requirements/dev.lock
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
make_venv "$venv/sandbox"
install_locked "$venv/sandbox" requirements/sandbox.lock
touch "$venv/.installed"
