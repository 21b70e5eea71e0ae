#!/usr/bin/env bash
# Makes sure that the named Debian packages are there: installs them where it can, else says how.
set -euo pipefail
missing=()
for package in "$@"; do
    dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
install="apt-get install --yes --no-install-recommends ${missing[*]}"
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    echo "fettle needs ${missing[*]}, and only root can install it. Run this, then try again:" >&2
    echo "    sudo $install" >&2
    exit 1
fi
echo "installing ${missing[*]} ..."
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update --quiet=2
"${as_root[@]}" $install --quiet=2 >/dev/null
