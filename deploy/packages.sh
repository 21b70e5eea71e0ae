#!/usr/bin/env bash
# Makes sure that the named Debian packages are installed: installs them, or prints the command.
set -euo pipefail
missing=()
for package in "$@"; do
    dpkg-query --show --showformat='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
install=(apt-get install --yes --no-install-recommends "${missing[@]}")
if ! command -v apt-get >/dev/null; then
    echo "fettle needs what Debian calls ${missing[*]}; install it with this system's own tool." >&2
    exit 1
elif [ "$(id -u)" = 0 ]; then
    as_root=(env)
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n env)
else
    by_hand="sudo apt-get update && sudo ${install[*]}"
    command -v sudo >/dev/null || by_hand="su -c 'apt-get update && ${install[*]}'"
    printf '%s\n' "fettle needs ${missing[*]}, and only root can install it. Run this, then try again:" \
        "    $by_hand" >&2
    exit 1
fi
quietly() {
    local said
    said=$("${as_root[@]}" DEBIAN_FRONTEND=noninteractive "$@" 2>&1) || { echo "$said" >&2; exit 1; }
}
echo "installing ${missing[*]} ..."
quietly apt-get update --quiet=2
quietly "${install[@]}" --quiet=2
