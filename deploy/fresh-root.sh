#!/usr/bin/env bash
# Runs commands in a minimal Debian with a fresh clone of HEAD and a user with an empty HOME. So
# packages that were installed by hand on this machine cannot hide a missing step.
#
#     deploy/fresh-root.sh make DIRECTORY                        as root, about a minute
#     deploy/fresh-root.sh run DIRECTORY USER COMMAND ...        root, or a user who may do nothing
#
# `run` works on a copy and removes it. For a user who is not root, the packages that the README requires
# are installed. The root shares with this machine the kernel, the network and the access to package
# indexes: apt's sources and Acquire settings, pip's index settings, proxies and certificates.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
repository=$(dirname "$here")
packages=(python3 git make ca-certificates)
for_user=(python3-venv bubblewrap)
suite=${FETTLE_DEBIAN_SUITE:-bookworm}
certificates=/etc/ssl/certs/ca-certificates.crt

fail() {
    printf 'fettle: %s\n' "$@" >&2
    exit 1
}
usage="usage: deploy/fresh-root.sh make DIRECTORY | run DIRECTORY USER COMMAND ..."

make_root() {
    local sources
    "$here/packages.sh" mmdebstrap >&2
    sources=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null || true)
    echo "making a Debian $suite with ${packages[*]} ..." >&2
    mkdir -p "$1"
    # The sources of this machine if it runs the same suite, else the usual sources of the suite.
    if grep --quiet --word-regexp "$suite" <<<"$sources"; then
        printf '%s\n' "$sources"
    fi | mmdebstrap --quiet --variant=minbase --include="$(IFS=,; echo "${packages[*]}")" \
        "${apt_options[@]}" "$suite" "$1" - >&2
    apt_settings >"$1/etc/apt/apt.conf.d/90index"
    pip_settings >"$1/etc/pip.conf"
    cp --dereference /etc/resolv.conf "$1/etc/resolv.conf"
    [ ! -f "$certificates" ] || cp "$certificates" "$1$certificates"
    echo '127.0.0.1 localhost' >"$1/etc/hosts"
}

apt_settings() {
    apt-config dump | grep -E '^Acquire::(http|https|Check-)' || true
}

pip_settings() {
    echo '[global]'
    "$repository/.venv/bin/python" -m pip config list |
        sed -nE "s/^(global|:env:)\.(index-url|extra-index-url|trusted-host|cert|proxy)='(.*)'$/\2 = \3/p" |
        grep -v 'file:' | sort --unique || true
}

# Runs as the first process of the new namespaces: "$1" is the root, "$2" the user; the commands follow.
# A chroot is not enough: its processes may not make user namespaces, and so no sandboxes.
inside() {
    local root=$1 user=$2 device
    shift 2
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount --rbind /sys "$root/sys"
    mount -t tmpfs -o mode=0755 dev "$root/dev"
    mkdir "$root/dev/shm" "$root/dev/pts"
    for device in null zero full random urandom tty; do
        touch "$root/dev/$device"
        mount --bind "/dev/$device" "$root/dev/$device"
    done
    mount -t tmpfs -o mode=1777 shm "$root/dev/shm"
    mount -t devpts -o newinstance,ptmxmode=0666,mode=0620,gid=5 devpts "$root/dev/pts"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    ln -s /proc/self/fd/0 "$root/dev/stdin"
    ln -s /proc/self/fd/1 "$root/dev/stdout"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    cd "$root"
    pivot_root . .
    umount --lazy .
    cd /
    if [ "$user" != root ]; then
        apt-get update --quiet=2
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends "${for_user[@]}" >/dev/null
        useradd --create-home --shell /bin/bash "$user"
    fi
    home=$(getent passwd "$user" | cut -d: -f6)
    chown --recursive "$user:" /src
    mv /src "$home/fettle"
    for command in "$@"; do
        printf '\n== %s: %s\n' "$user" "$command"
        began=$SECONDS
        as_user "$user" "$home" "$command" || fail "as $user, this failed: $command"
        printf '== %s: %s: %s s\n' "$user" "$command" "$((SECONDS - began))"
    done
}

as_user() {
    setpriv --reuid="$1" --regid="$1" --init-groups env --ignore-environment --chdir="$2/fettle" \
        HOME="$2" USER="$1" PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        LANG=C.UTF-8 "${proxies[@]}" bash -c "$3"
}

[ $# -ge 2 ] || fail "$usage"
[ "$(id -u)" = 0 ] || fail "a root for commands can only be made by root: run this as root" \
    "(nothing was checked)"
proxies=()
for name in http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY; do
    [ -z "${!name:-}" ] || proxies+=("$name=${!name}")
done
apt_options=()
while read -r setting; do apt_options+=(--aptopt="$setting"); done < <(apt_settings)

case $1 in
make)
    make_root "$2"
    ;;
run)
    [ $# -ge 4 ] || fail "$usage"
    base=$2 user=$3
    shift 3
    root=$(mktemp -d "$(dirname "$base")/fresh-root.XXXXXX")
    trap 'rm -rf --one-file-system "$root"' EXIT
    cp -a "$base/." "$root"
    chmod 0755 "$root"
    git clone --quiet --no-local "$repository" "$root/src"
    export -f inside as_user fail
    unshare --mount --pid --fork --kill-child --propagation private \
        bash -euo pipefail -c "$(declare -p proxies for_user); inside \"\$@\"" inside "$root" "$user" "$@"
    ;;
*) fail "$usage" ;;
esac
