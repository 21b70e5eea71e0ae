#!/usr/bin/env bash
# Proves docs/production.md: runs its commands unchanged and in their order on a minimal Debian with
# systemd as its first process, which has no network after the releases are made. Then it kills a
# worker, and upgrades the deployment while a job waits for a person. As root, 5 minutes:
#
#     deploy/fresh-root.sh make /tmp/root
#     deploy/fresh-root.sh run /tmp/root root deploy/prove-production.sh
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] && [ ! -e /etc/fettle ] ||
    { echo "fettle: this is for a root of deploy/fresh-root.sh, see its first lines" >&2 && exit 1; }

say() { printf '\n== %s\n' "$*" >&2; }

# Waits until a command succeeds, for a minute at most.
wait_for() {
    for _ in $(seq 300); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.2
    done
    echo "fettle: not within a minute: $*" >&2
    exit 1
}

# The commands of a section of the page.
commands() {
    awk -v section="## $1" '/^## /{on = $0 == section} on && /^```/{code = /^```bash/; next} on && code' docs/production.md
}

say "Install"
apt-get update --quiet=2
apt-get install --yes --quiet=2 --no-install-recommends systemd systemd-sysv dbus procps iproute2 >/dev/null
bash -euo pipefail -c "$(commands Install)"
say "The next release"
git -c user.name=proof -c user.email=proof@localhost commit --quiet --allow-empty --message "next"
deploy/release.sh "/opt/fettle/$(git log -1 --format=%cs-%h)"
systemd-analyze verify /etc/systemd/system/fettle*

say "systemd as the first process"
groups=/sys/fs/cgroup
mounts="mount -t cgroup2 none $groups"
if [ -d $groups/systemd ]; then # version 1: its own hierarchy alone
    groups=$groups/systemd
    mounts="mount -t tmpfs none /sys/fs/cgroup; mkdir $groups; mount -t cgroup -o none,name=systemd none $groups"
fi
own=$groups/fettle-proof-$$
mkdir "$own"
(
    echo "$BASHPID" >"$own/cgroup.procs"
    exec unshare --cgroup --ipc --mount --net --pid --uts --fork --kill-child --mount-proc bash -euc \
        "$mounts; ip link set lo up 2>/dev/null || true; exec env container=lxc /lib/systemd/systemd --log-target=null" 
) >/dev/null 2>&1 &
outer=$!
remove() {
    kill -KILL "$first" "$outer" 2>/dev/null || true
    wait "$outer" 2>/dev/null || true
    for _ in $(seq 50); do
        find "$own" -depth -type d -exec rmdir {} + 2>/dev/null && break
        sleep 0.1
    done
}
first=
trap remove EXIT
booted() { first=$(pgrep --parent "$outer" --full systemd); }
wait_for booted
on() { nsenter --target "$first" --all --wd="$PWD" -- "$@"; }
wait_for on systemctl is-system-running

say "Start"
on bash -euxo pipefail -c "$(commands Start)"
say "Check"
fettle() { on bash -euc 'set -a; . /etc/fettle/fettle.env; exec /opt/fettle/current/run fettle "$@"' - "$@"; }
wait_for fettle doctor
on bash -euo pipefail -c "$(commands Check)"
for secret in "cat /etc/fettle/fettle.env" "ls /var/lib/fettle" "ls /var/lib/redis/fettle"; do
    # shellcheck disable=SC2086 - words
    if on setpriv --reuid=nobody --regid=nogroup --clear-groups $secret 2>/dev/null; then
        echo "fettle: anybody can: $secret" >&2 && exit 1
    fi
done

say "A worker that is killed is started again"
worker=$(on systemctl show --property MainPID --value fettle-worker@1)
on kill -KILL "$worker"
restarted() {
    on systemctl is-active --quiet fettle-worker@1 &&
        [ "$(on systemctl show --property MainPID --value fettle-worker@1)" != "$worker" ]
}
wait_for restarted

say "Upgrade, while a job waits for a person"
job=$(fettle run "Write a binary search and test it on 20 numbers." --model recording:demo-binary-search --review --no-wait)
waits() { fettle show "$job" | grep --quiet "^awaiting review"; }
wait_for waits
before=$(readlink /opt/fettle/current)
on bash -euxo pipefail -c "$(commands Upgrade)"
[ "$before" != "$(readlink /opt/fettle/current)" ]
# systemctl waits only for the target, not for the services that are part of it
upgraded() { ! on sh -c "grep --quiet --null-data ^PATH=$before/ /proc/[0-9]*/environ 2>/dev/null"; }
wait_for upgraded
wait_for fettle doctor
fettle review "$job" approve
fettle watch "$job"

say "No unit has failed, and all of them stop"
none_failed() {
    local failed
    failed=$(on systemctl list-units --failed --plain --no-legend "fettle*" "redis*")
    [ -z "$failed" ] || { echo "fettle: $failed" >&2 && exit 1; }
}
none_failed
on systemctl stop fettle.target
stopped() { ! on pgrep --euid fettle; }
wait_for stopped
none_failed
say "docs/production.md holds"
