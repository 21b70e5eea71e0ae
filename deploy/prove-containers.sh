#!/usr/bin/env bash
# Proves that the images build without a registry, and that a job passes through the containers of
# docker-compose.yml without any access to a network.
#
#     deploy/prove-containers.sh          about 4 minutes, 2 GB below TMPDIR, on Debian 12
#
# 1. An engine: the reachable engine; else, as root, a new engine from Debian's docker.io in
#    namespaces of its own. The new engine has no network, so neither its builds nor its containers
#    reach any host. It leaves no bridge, rule or mount behind.
# 2. A base image from Debian's packages, the wheelhouse, and the images from both.
# 3. Each setting of the worker's container is necessary: without it, the sandbox does not work.
# 4. redis, api, flower and two workers by compose v2, if it is installed. With v1, `docker create`
#    starts the workers with the settings of the compose file, because v1 lacks one of these settings.
# 5. A job that pauses for a review. Then Redis is killed, the workers are replaced, the job is
#    approved, and its plot is fetched over HTTP. At the end, also of a failure, all parts are removed.
set -euo pipefail
cd "$(dirname "$0")/.."

exec 3>&1
project=fettle-proof
scratch=$(mktemp -d "${TMPDIR:-/tmp}/fettle-proof.XXXXXX")
engine=
wheelhouse=$([ ! -d wheelhouse ] || echo "the user's own")
python=/usr/bin/python3
export COMPOSE_PROJECT_NAME=$project DOCKER_BUILDKIT=0 COMPOSE_DOCKER_CLI_BUILD=0
export FETTLE_BASE_IMAGE=$project-base FETTLE_REDIS_IMAGE=$project-redis
export FETTLE_API_IMAGE=$project-api FETTLE_WORKER_IMAGE=$project-worker
export FETTLE_PUBLISH=127.0.0.1:18000 FETTLE_FLOWER_PORT=15555
secret() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

say() { printf '\n== %s\n' "$*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
refused() { # checks that a command fails; arguments: its description, the command
    local what=$1
    shift
    if "$@" >"$scratch/refused" 2>&1; then fail "$what worked"; fi
    echo "refused as it should be: $what: $(xargs --delimiter '\n' echo <"$scratch/refused" | tr -s ' ' | cut -c1-230)"
}
on_engine_network() { if [ -n "$engine" ]; then nsenter --target "$engine" --net "$@"; else "$@"; fi; }
compose() { if docker compose version >/dev/null 2>&1; then docker compose "$@"; else docker-compose "$@"; fi; }
workers() { docker ps --quiet --filter "label=com.docker.compose.project=$project" --filter "label=com.docker.compose.service=worker"; }

take_down() {
    local code=$?
    trap - EXIT
    exec >&3 2>&1 # a signal may have arrived while the output was redirected
    say "taking down"
    if docker version >/dev/null 2>&1; then
        [ $code = 0 ] || for id in $(docker ps --all --quiet --filter "label=com.docker.compose.project=$project"); do
            docker inspect --format '{{.Name}} {{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}' "$id"
            docker logs --tail 20 "$id" 2>&1 | sed 's/^/    /'
        done
        docker ps --all --quiet --filter "label=com.docker.compose.project=$project" | xargs --no-run-if-empty docker rm --force --volumes >/dev/null
        compose down --volumes >"$scratch/down" 2>&1 || cat "$scratch/down"
        [ -n "$engine" ] || docker image rm --force $project-{base,redis,api,worker} >/dev/null 2>&1 || true
    fi
    if [ -n "$engine" ]; then
        kill -TERM "$(pgrep --parent "$engine")" || true
        wait "$engine" || true
    fi
    rm -rf "$scratch"
    [ -n "$wheelhouse" ] || rm -rf wheelhouse
    if [ $code = 0 ]; then say "proved"; else say "NOT proved (exit code $code)"; fi
    exit $code
}
trap take_down EXIT
trap 'exit 130' INT TERM

have_engine() {
    command -v docker >/dev/null && docker info >/dev/null 2>&1 && return
    [ "$(id -u)" = 0 ] || fail "no Docker engine is reachable, and only root can start one"
    command -v dockerd >/dev/null || deploy/packages.sh docker.io
    export DOCKER_HOST=unix://$scratch/engine.sock
    # shellcheck disable=SC2016  # the inner shell's own arguments
    # The namespaces end with their last process, and with them their mounts, bridges and rules.
    unshare --net --mount --pid --fork --mount-proc --kill-child sh -c '
        ip link set lo up
        exec dockerd --data-root "$1/data" --exec-root "$1/exec" --pidfile "$1/engine.pid" \
            --host "unix://$1/engine.sock" >"$1/engine.log" 2>&1' sh "$scratch" &
    engine=$!
    for _ in $(seq 120); do docker info >/dev/null 2>&1 && return; sleep 0.5; done
    tail -n 20 "$scratch/engine.log" >&2
    fail "the engine did not start"
}

build_images() {
    deploy/base-image.sh $project-base
    PYTHON=$python deploy/wheelhouse.sh
    # Compose needs two parts of the redis image: a server, and /data with the owner 999.
    printf 'FROM %s\nRUN install --directory --owner 999 --group 999 /data\n' $project-base |
        docker build --tag $project-redis - >"$scratch/build.log" 2>&1
    compose build >>"$scratch/build.log" 2>&1 || { tail -n 40 "$scratch/build.log"; fail "the images do not build"; }
    [ -z "$engine" ] || echo "the engine's data: $(du -sh --one-file-system "$scratch/data" | cut -f1)"
    docker image ls --format '{{.Repository}}  {{.Size}}' | grep "^$project"
}

sandbox_in_container() { # prints the finding in one line; arguments: the options of `docker run`
    docker run --rm --init --read-only --cap-drop=ALL --network=none --tmpfs=/tmp \
        --security-opt=no-new-privileges:true "$@" $project-worker \
        python -m sandbox.doctor --python /opt/fettle/sandbox/bin/python
}

prove_settings() {
    local filter=seccomp=deploy/seccomp-worker.json
    refused "a sandbox under the engine's default system call filter" \
        sandbox_in_container --security-opt=systempaths=unconfined --security-opt=apparmor=unconfined
    refused "a sandbox where the engine covers parts of /proc" \
        sandbox_in_container --security-opt=$filter --security-opt=apparmor=unconfined
    sandbox_in_container --security-opt=$filter --security-opt=systempaths=unconfined --security-opt=apparmor=unconfined
}

prove_secrets() {
    local name
    for name in FETTLE_API_KEY FETTLE_REDIS_PASSWORD FETTLE_FLOWER_PASSWORD; do
        refused "compose without $name" env --unset=$name "${compose_command[@]}" config
    done
}

start_worker() { # by `docker create`, with the settings of the compose file
    local arguments id
    mapfile -t arguments < <(docker-compose config | "$python" deploy/prove_flags.py $project worker)
    [ ${#arguments[@]} -gt 0 ] || fail "the worker's settings could not be read"
    id=$(docker create --label com.docker.compose.project=$project --label com.docker.compose.service=worker "${arguments[@]}")
    docker network connect ${project}_store "$id"
    docker start "$id" >/dev/null
}

healthy() { # waits until COUNT containers of a SERVICE are healthy
    local count=$1 service=$2 found
    for _ in $(seq 120); do
        found=$(docker ps --quiet --filter health=healthy --filter "label=com.docker.compose.project=$project" \
            --filter "label=com.docker.compose.service=$service" | wc -l)
        [ "$found" -ge "$count" ] && { echo "$service: $found healthy"; return; }
        sleep 1
    done
    fail "$service: $found of $count healthy"
}

start_all() {
    if [ "${compose_command[0]}" = docker ]; then
        compose up --detach --scale worker=2
    else
        compose up --detach redis broker api flower
        start_worker
        start_worker
    fi
    healthy 1 redis
    healthy 1 broker
    healthy 1 api
    healthy 1 flower
    healthy 2 worker
}

replace_workers() { # so that a new process resumes the job
    workers | xargs docker rm --force >/dev/null
    if [ "${compose_command[0]}" = docker ]; then compose up --detach --scale worker=2; else start_worker; start_worker; fi
    healthy 2 worker
}

prove_worker() {
    local id mount_call # the system call, because the program mount(8) itself would refuse
    mount_call='import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
sys.exit(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None) and os.strerror(ctypes.get_errno()))'
    for id in $(workers); do
        docker inspect --format 'worker {{slice .Id 0 12}}: user {{.Config.User}}, privileged {{.HostConfig.Privileged}}, added capabilities {{.HostConfig.CapAdd}}, dropped {{.HostConfig.CapDrop}}, mounts {{range .Mounts}}{{.Destination}} {{end}}' "$id"
        [ "$(docker inspect --format '{{.HostConfig.Privileged}} {{len .HostConfig.CapAdd}}' "$id")" = "false 0" ] || fail "the worker has privileges"
        docker exec "$id" sh -euc '
            [ "$(id -u)" = 10001 ]
            for field in CapInh CapPrm CapEff CapBnd CapAmb; do
                grep -qx "$field:[[:space:]]0000000000000000" /proc/1/status
            done
            grep -qx "NoNewPrivs:[[:space:]]1" /proc/1/status
            grep -qx "Seccomp:[[:space:]]2" /proc/1/status
            [ -z "$(find / -xdev -type s -name "*docker*" 2>/dev/null)" ] && ! grep -q "docker.sock" /proc/mounts
            ! touch /opt/fettle/x 2>/dev/null' || fail "the worker's processes have more than they should"
        refused "mounting in the worker itself" docker exec "$id" python -c "$mount_call"
        refused "a namespace without a user namespace" docker exec "$id" unshare --net true
    done
}

prove_front() {
    local api=http://$FETTLE_PUBLISH flower=http://127.0.0.1:$FETTLE_FLOWER_PORT
    refused "the API without a key" on_engine_network curl --silent --show-error --fail "$api/jobs"
    refused "Flower without its password" on_engine_network curl --silent --show-error --fail "$flower/"
    on_engine_network curl --silent --fail --output /dev/null --user "fettle:$FETTLE_FLOWER_PASSWORD" "$flower/"
    local redis
    redis=$(compose ps --quiet redis)
    [[ $(docker exec "$redis" env --unset=REDISCLI_AUTH redis-cli ping) == NOAUTH* ]] || fail "Redis answers without a password"
    docker exec "$redis" sh -c 'for name in appendonly appendfsync maxmemory-policy maxmemory; do redis-cli config get $name | xargs; done'
    [ -z "$(docker port "$redis")" ] || fail "Redis is published"
}

prove_job() {
    local job
    client() { on_engine_network "$python" deploy/prove_job.py "http://$FETTLE_PUBLISH" "$@"; }
    client system
    job=$(client submit)
    echo "job $job waits for its review; killing Redis, replacing the workers"
    docker kill "$(compose ps --quiet redis)" >/dev/null
    compose up --detach redis >/dev/null 2>&1
    healthy 1 redis
    healthy 1 broker
    replace_workers
    client approve "$job"
}

say "an engine"
have_engine
# After the engine: compose v1's own package asks for docker.io.
docker compose version >/dev/null 2>&1 || command -v docker-compose >/dev/null || deploy/packages.sh docker-compose
if docker compose version >/dev/null 2>&1; then compose_command=(docker compose); else compose_command=(docker-compose); fi
deploy/packages.sh curl python3-venv python3-yaml
FETTLE_API_KEY=$(secret) FETTLE_REDIS_PASSWORD=$(secret) FETTLE_FLOWER_PASSWORD=$(secret)
export FETTLE_API_KEY FETTLE_REDIS_PASSWORD FETTLE_FLOWER_PASSWORD
docker version --format 'engine {{.Server.Version}}'
echo "compose $("${compose_command[@]}" version --short)"

say "images, from Debian's packages and the wheelhouse"
build_images
say "what the worker is given is needed, and enough"
prove_settings
say "no secret has a default"
prove_secrets
say "redis, api, flower, two workers"
start_all
say "a worker's privileges: none"
prove_worker
say "doors"
prove_front
say "a job"
prove_job
