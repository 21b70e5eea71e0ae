#!/usr/bin/env bash
# Makes the image of the backend `docker`, on the engine that DOCKER_HOST names: the
# sandbox's Python with its locked packages (requirements/sandbox.lock), Fettle's agent, no more.
#
#     deploy/sandbox-image.sh [NAME]      NAME is fettle-sandbox by default
#
# Without a registry (default): this machine's Python and the environment that `make install` made
# are packed and imported; 10 s. With one: FETTLE_BASE_IMAGE=python:3.11-slim-bookworm builds the
# same from deploy/Dockerfile, every package by its hash.
#
# The label `fettle.sandbox` is a digest of Fettle's files in it. Where the engine's image has it and
# has the same environment already, nothing is done; a worker refuses an image without it.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-fettle-sandbox}
service=${FETTLE_PYTHON:-.venv/bin/python}
environment=${FETTLE_SANDBOX_ENVIRONMENT:-.venv/sandbox}
base=${FETTLE_BASE_IMAGE:-}

docker version --format . >/dev/null
name_service() { # the module that knows localhost: the engine empties an image's /etc/hosts
    local module
    module=$(ldconfig -p | sed -n 's/.*libnss_myhostname\.so\.2 .*=> //p' | head -n 1)
    if [ -z "$module" ] && command -v apt-get >/dev/null; then
        mkdir "$1/tmp"
        (cd "$1/tmp" && { apt-get download libnss-myhostname || { apt-get update && apt-get download libnss-myhostname; }; }) >/dev/null 2>&1 || true
        dpkg-deb --extract "$1"/tmp/*.deb "$1/tmp" 2>/dev/null || true
        module=$(find "$1/tmp" -name 'libnss_myhostname.so.2' -type f)
    fi
    if [ -n "$module" ]; then
        install -D --mode 0755 "$module" "$1/usr/lib/$(basename "$(dirname "$module")")/libnss_myhostname.so.2"
    else
        echo "no libnss_myhostname here: the name localhost will not be known in sandboxes, 127.0.0.1 will" >&2
    fi
    rm -rf "$1/tmp"
}

label=$("$service" -m sandbox.docker digest)
if [ -n "$base" ]; then stands_on=$base; else stands_on=$("$environment/bin/python" -VV); fi
stands_on=$(sha256sum requirements/sandbox.lock deploy/pack_sandbox.py deploy/Dockerfile - <<<"$stands_on" | sha256sum | cut -c1-64)
found=$(docker image inspect --format '{{index .Config.Labels "fettle.sandbox"}} {{index .Config.Labels "fettle.base"}}' "$name" 2>/dev/null) || found=
if [ "$found" = "$label $stands_on" ]; then
    echo "$name is up to date"
    exit 0
fi

if [ -n "$base" ]; then
    docker build --quiet --file deploy/Dockerfile --target sandbox --build-arg BASE_IMAGE="$base" \
        --build-arg PIP_INDEX_URL --build-arg PIP_EXTRA_INDEX_URL \
        --label fettle.sandbox="$label" --label fettle.base="$stands_on" --tag "$name" . >/dev/null
else
    files=$(mktemp -d "${TMPDIR:-/tmp}/fettle-sandbox.XXXXXX")
    trap 'rm -rf "$files"' EXIT
    "$service" -m sandbox.docker files "$files"
    # Bytecode, for a root that is read-only; and matplotlib's list of the fonts it brings itself.
    "$environment/bin/python" -I -m compileall -q -s "$files" -p / --invalidation-mode unchecked-hash "$files/agent"
    env -i MPLCONFIGDIR="$files/agent/fonts" "$environment/bin/python" -I deploy/own_fonts.py
    name_service "$files"
    "$service" deploy/pack_sandbox.py "$environment" "$files" |
        docker import --change "LABEL fettle.sandbox=$label fettle.base=$stands_on" - "$name" >/dev/null
fi
echo "made $name: $(docker image inspect --format '{{.Size}}' "$name" | numfmt --to=si)B"
