#!/usr/bin/env bash
# Makes a base image on this machine, for an engine that cannot pull images: Debian with Python,
# bubblewrap, git, ssh and a Redis server, from Debian's own packages (about 90 s, 340 MB).
#
#     deploy/base-image.sh [NAME]         NAME is fettle-base by default
#
# FETTLE_DEBIAN_SUITE (default: bookworm) and FETTLE_DEBIAN_MIRROR choose the source of the packages.
set -euo pipefail
here=$(dirname "$0")
name=${1:-fettle-base}
suite=${FETTLE_DEBIAN_SUITE:-bookworm}
packages=python3,python3-venv,bubblewrap,git,openssh-client,redis-server,ca-certificates,libnss-myhostname

"$here/packages.sh" mmdebstrap

# The new root needs this machine's settings of apt to reach the mirror.
options=()
proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
[ -n "$proxy" ] && options+=(--aptopt="Acquire::http::Proxy \"$proxy\"")

# shellcheck disable=SC2016  # the hook's own $1: the new root
mmdebstrap --quiet --variant=minbase --include="$packages" "${options[@]}" \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/* "$1"/var/log/*.log' \
    "$suite" - ${FETTLE_DEBIAN_MIRROR:+"$FETTLE_DEBIAN_MIRROR"} |
    docker import --message "Debian $suite with $packages" - "$name" >/dev/null
echo "made $name: $(docker image inspect --format '{{.Size}}' "$name" | numfmt --to=si)B"
