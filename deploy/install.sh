#!/usr/bin/env bash
# Makes the locked environment: the service and its tools in $1, and in $1/sandbox what the code
# that models write may import. The two are apart, so that the sandbox never shows Fettle's own
# libraries to that code. PYTHON names the interpreter; without it, the one of before stays.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=${1:-.venv}
stamp=$venv/.installed
asked=${PYTHON:-}
if [ -z "$asked" ]; then
    asked=$venv/bin/python
    "$asked" -c '' 2>/dev/null || asked=python3
fi

fail() {
    printf 'fettle: %s\n' "$@" >&2
    exit 1
}

# By its real path: the one that was asked for may itself be in what is made anew.
read -r supported version python < <("$asked" -I -c 'import os, sys
print(int(sys.version_info >= (3, 11)), sys.version.split()[0], os.path.realpath(sys.executable))' 2>/dev/null) ||
    fail "'$asked' is not there, or is no Python. 3.11 or newer is needed: make install PYTHON=python3.12"
[ "$supported" = 1 ] ||
    fail "'$asked' is Python $version; 3.11 or newer is needed. Name one: make install PYTHON=python3.12"

# The stamp: what the environment stands on, then what it was filled from. Where the first line is
# another's, all is made anew; of the files, only what has changed is installed again.
base="$python ${version%.*} $PWD"
wanted="$base
$(sha256sum pyproject.toml requirements/dev.lock requirements/sandbox.lock)"
look() {
    found=$(cat "$stamp" 2>/dev/null) || found=
    [ "$found" != "$wanted" ] || exit 0
    [ "${found%%$'\n'*}" = "$base" ] || found=
}
changed() {
    ! grep --quiet --line-regexp --fixed-strings "$(sha256sum "$1")" <<<"$found"
}
look
exec 9<deploy/install.sh
flock 9 # two makes at once take turns; the second finds it done
look

make_venv() {
    # Debian ships Python without ensurepip, its venv package has it; bubblewrap is wanted soon
    # after, and who is no root should be asked once.
    "$python" -c 'import ensurepip' 2>/dev/null || deploy/packages.sh "python${version%.*}-venv" bubblewrap
    "$python" -m venv --clear "$1"
}
pip_install() {
    local into=$1
    shift
    # Twice quiet: no warnings, errors all the same.
    "$into/bin/python" -m pip install --quiet --quiet --disable-pip-version-check "$@" ||
        fail "pip could not install this (see above): $*" \
            "Is the package index reachable? Then run it again."
}

if [ -n "$found" ]; then
    echo "bringing the locked environment in $venv up to date ..."
else
    echo "installing the locked environment in $venv with Python $version (a minute or two, once) ..."
    make_venv "$venv"
    make_venv "$venv/sandbox"
fi
# The lock names every package. With --no-deps pip does not resolve it again: it then refuses a version
# that its authors have withdrawn since, where another package asks for it with an extra.
if changed requirements/dev.lock; then
    pip_install "$venv" --require-hashes --no-deps --requirement requirements/dev.lock
fi
if changed pyproject.toml; then
    pip_install "$venv" --no-deps --no-build-isolation --editable .
fi
if changed requirements/sandbox.lock; then
    pip_install "$venv/sandbox" --require-hashes --no-deps --requirement requirements/sandbox.lock
fi
printf '%s\n' "$wanted" >"$stamp"
