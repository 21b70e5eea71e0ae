#!/usr/bin/env bash
# Starts a Docker engine for tests, benchmarks and attacks on a machine without an engine.
#
#     deploy/engine.sh start DIRECTORY [PID]      as root; prints its address, for DOCKER_HOST
#     deploy/engine.sh stop DIRECTORY             ends only the processes that it started, removes DIRECTORY
#
# It is Debian's docker.io in network, mount and process namespaces of its own. So it changes no
# bridge, rule or mount of another engine, and its containers reach no network. Its data, socket and
# log are below DIRECTORY. A second start with the same DIRECTORY only prints the address. With PID,
# the engine stops when that process ends for any reason. It reads DIRECTORY/daemon.json if it exists.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

fail() {
    printf 'fettle: %s\n' "$@" >&2
    exit 1
}
usage="usage: deploy/engine.sh start DIRECTORY [PID] | stop DIRECTORY"
[ $# -ge 2 ] || fail "$usage"
[ "$1" = start ] || [ -d "$2" ] || exit 0
mkdir -p "$2"
directory=$(cd "$2" && pwd -P)
socket=$directory/engine.sock
group=fettle-engine-$(printf %s "$directory" | sha256sum | cut -c1-12)

answers() { curl --silent --max-time 5 --output /dev/null --unix-socket "$socket" http://engine/_ping; }
running() { # whether the started process runs; another process may have its number by now
    pid=$(cat "$directory/pid" 2>/dev/null) || return 1
    { tr '\0' ' ' <"/proc/$pid/cmdline"; } 2>/dev/null | grep --quiet --fixed-strings -- "$directory/data"
}

start() {
    if running && answers; then
        echo "unix://$socket"
        return
    fi
    ! running || fail "the engine in $directory does not answer; stop it first"
    [ "$(id -u)" = 0 ] || fail "only root can start an engine"
    command -v curl >/dev/null || "$here/packages.sh" curl >&2
    command -v dockerd >/dev/null || "$here/packages.sh" docker.io >&2
    # A socket's path has to fit into 108 bytes.
    [ ${#socket} -lt 100 ] || fail "the path of $directory is too long for a socket"
    chmod 0700 "$directory"
    # The files of a killed engine. Its processes and mounts have ended with its namespaces.
    rm -rf "$socket" "$directory/dockerd.pid" "$directory/exec"
    [ ! -f "$directory/daemon.json" ] || set -- "$1" --config-file "$directory/daemon.json"
    # An init above the engine: no other process reaps the orphans of its containers.
    setsid env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$directory" \
        unshare --net --mount --pid --fork --mount-proc --kill-child docker-init -- \
        dockerd --data-root "$directory/data" --exec-root "$directory/exec" \
        --pidfile "$directory/dockerd.pid" --host "unix://$socket" --cgroup-parent "/$group" \
        --bridge none --iptables=false --ip6tables=false --group root "${@:2}" \
        </dev/null >"$directory/engine.log" 2>&1 &
    echo $! >"$directory/pid"
    for _ in $(seq 300); do
        if answers; then
            [ -z "$1" ] || end_with "$1"
            echo "unix://$socket"
            return
        fi
        [ -d "/proc/$!" ] || break
        sleep 0.1
    done
    tail -n 20 "$directory/engine.log" >&2
    end
    fail "the engine did not start; $directory/engine.log says why"
}

end_with() {
    # shellcheck disable=SC2016  # the inner shell's own arguments
    setsid sh -c 'tail --pid="$1" --follow /dev/null; exec "$2" stop "$3"' sh "$1" "$here/engine.sh" "$directory" \
        </dev/null >/dev/null 2>&1 &
}

end() {
    running || return 0
    # First stop the engine regularly, so that its containers end, too. Then end its namespaces.
    pkill -TERM --parent "$pid" || true
    for _ in $(seq 150); do
        running || return 0
        ! grep --quiet 'Daemon shutdown complete' "$directory/engine.log" || break
        sleep 0.1
    done
    kill -KILL "$pid" || true
    while running; do sleep 0.05; done
}

stop() {
    end
    find /sys/fs/cgroup -depth -type d -path "*/$group*" -exec rmdir {} + 2>/dev/null || true
    rm -rf "$directory"
}

case $1 in
    start) start "${3:-}" ;;
    stop) stop ;;
    *) fail "$usage" ;;
esac
