#!/usr/bin/env bash
# Makes the locked environments, and brings them up to date if a lock file has changed:
#
#     deploy/install.sh VENV [dev] [sandbox-extra]
#
# VENV is the service with all extras: `make demo` and `make up` need this and VENV/sandbox. `dev` adds
# the tools of tests and checks, and the laboratory (lab/), to VENV. VENV/sandbox has the packages that
# the code of models may import, so that a sandbox never shows Fettle's own libraries. VENV/sandbox-extra
# has more of them; a worker finds it by FETTLE_SANDBOX_PYTHON. PYTHON names the interpreter; the default
# is the present one.
set -euo pipefail
cd "$(dirname "$0")/.."
venv=$1
shift
stamp=$venv/.installed
interpreter=${PYTHON:-}
if [ -z "$interpreter" ]; then
    interpreter=$venv/bin/python
    "$interpreter" -c '' 2>/dev/null || interpreter=python3
fi

fail() {
    printf 'fettle: %s\n' "$@" >&2
    exit 1
}

# The real path, because the named interpreter may belong to an environment that is made anew.
read -r supported version python < <("$interpreter" -I -c 'import os, sys
print(int(sys.version_info >= (3, 11)), sys.version.split()[0], os.path.realpath(sys.executable))' 2>/dev/null) ||
    fail "'$interpreter' is not there, or is no Python. 3.11 or newer is needed: make install PYTHON=python3.12"
[ "$supported" = 1 ] ||
    fail "'$interpreter' is Python $version; 3.11 or newer is needed. Name one: make install PYTHON=python3.12"

# The stamp has the interpreter and the folder in its first line, then the checksum of each installed
# file. If the first line differs, all environments are made anew; otherwise only changed files are installed.
base="$python ${version%.*} $PWD"
files=(requirements/installer.lock requirements/service.lock fettle/pyproject.toml pyproject.toml)
files+=(requirements/sandbox.lock)
for option in "$@"; do
    files+=("requirements/$option.lock")
    [ "$option" != dev ] || files+=(lab/pyproject.toml)
done
is_installed() {
    grep --quiet --line-regexp --fixed-strings "$(sha256sum "$1")" "$stamp" 2>/dev/null
}
is_complete() {
    [ "$(head -n 1 "$stamp" 2>/dev/null)" = "$base" ] || return 1
    for file in "${files[@]}"; do
        is_installed "$file" || return 1
    done
}
! is_complete || exit 0
exec 9<deploy/install.sh
flock 9 # Two calls of make at once take turns; the second call has no work left.
! is_complete || exit 0

make_venv() {
    echo "making $1 with Python $version ..."
    "$python" -m venv --clear "${@:2}" "$1" ||
        fail "$1 could not be made (see above)"
}

# uv does not read pip's configuration (pip.conf, PIP_*), so pass on the settings that name an index. With
# hashes it does not matter which index a file comes from: look for the locked version at all of them.
pip_setting() {
    local section
    for section in :env: install global; do # in pip's own order
        sed -nE "s/^$section\.$1='(.*)'$/\1/p" <<<"$pip_settings" | sed 's/\\n/ /g' | grep . && return
    done
}
make_uv_options() {
    local pip_settings index
    pip_settings=$("$venv/bin/python" -m pip config list)
    uv_options=(--quiet --index-strategy unsafe-best-match)
    for index in $(pip_setting index-url); do uv_options+=(--default-index "$index"); done
    for index in $(pip_setting extra-index-url); do uv_options+=(--index "$index"); done
    for index in $(pip_setting find-links); do uv_options+=(--find-links "$index"); done
    for index in $(pip_setting trusted-host); do uv_options+=(--allow-insecure-host "$index"); done
    [[ ! $(pip_setting no-index) =~ ^(1|true|yes|on)$ ]] || uv_options+=(--no-index)
    if index=$(pip_setting cert); then export SSL_CERT_FILE=$index; fi
    if index=$(pip_setting proxy); then export HTTP_PROXY=$index HTTPS_PROXY=$index; fi
}
install_into() {
    local environment=$1
    shift
    "$venv/bin/uv" pip install --python "$environment/bin/python" "${uv_options[@]}" "$@" ||
        fail "uv could not install this (see above): $*" \
            "Is the package index reachable? Then run it again."
}
install_lock() {
    local lock=$2
    # Compile now: an import in a sandbox cannot store its bytecode, and the processes of a deployment
    # start together, so that each of them would compile the same files.
    # Without --no-deps, a version that its authors have withdrawn since is refused.
    echo "installing $(grep --count == "$lock") packages of $lock into $1 ..."
    install_into "$1" --compile-bytecode --require-hashes --no-deps --requirement "$lock"
}
install_file() {
    case $1 in
    requirements/installer.lock)
        "$venv/bin/python" -m pip install --quiet --quiet --disable-pip-version-check \
            --require-hashes --no-deps --requirement "$1" ||
            fail "pip could not install uv (see above). Is the package index reachable? Then run it again."
        ;;
    pyproject.toml | */pyproject.toml)
        install_into "$venv" --no-deps --no-build-isolation --editable "$(dirname "$1")"
        ;;
    requirements/sandbox*.lock)
        environment=$venv/$(basename "$1" .lock)
        make_venv "$environment" --without-pip
        install_lock "$environment" "$1"
        ;;
    *) install_lock "$venv" "$1" ;;
    esac
}

began=$SECONDS
if [ "$(head -n 1 "$stamp" 2>/dev/null)" != "$base" ]; then
    # Debian ships Python without ensurepip, which is in its venv package. bubblewrap is needed soon after,
    # and a user who is not root should have to call root only once.
    "$python" -c 'import ensurepip' 2>/dev/null || deploy/packages.sh "python${version%.*}-venv" bubblewrap
    make_venv "$venv"
    printf '%s\n' "$base" >"$stamp"
fi
make_uv_options
for file in "${files[@]}"; do
    ! is_installed "$file" || continue
    install_file "$file"
    # Record each file at once: a call that is stopped later goes on from here.
    sed --in-place "\|  $file\$|d" "$stamp"
    sha256sum "$file" >>"$stamp"
done
echo "the environment in $venv is ready, after $((SECONDS - began)) s"
