# A rootless engine for docker-compose.engine.yml: Debian's, in a user namespace, without a network.
ARG BASE_IMAGE=debian:bookworm-slim
FROM ${BASE_IMAGE}
RUN command -v dockerd >/dev/null && command -v rootlesskit >/dev/null && command -v setcap >/dev/null \
    || { apt-get update --quiet=2 \
        && apt-get install --yes --quiet=2 --no-install-recommends docker.io rootlesskit uidmap libcap2-bin \
        && rm -rf /var/lib/apt/lists/*; }
# The only privilege: to give the engine its subordinate users. Two files have it as capabilities,
# because a program of root without CAP_SYS_ADMIN, as in a container, may not do this.
RUN groupadd --gid 1000 rootless \
    && useradd --uid 1000 --gid 1000 --no-create-home --home-dir /tmp --shell /usr/sbin/nologin rootless \
    && echo rootless:100000:65536 | tee /etc/subuid >/etc/subgid \
    && chmod 0755 /usr/bin/newuidmap /usr/bin/newgidmap \
    && setcap cap_setuid+ep /usr/bin/newuidmap && setcap cap_setgid+ep /usr/bin/newgidmap \
    && install --directory --owner 1000 --group 1000 --mode 0750 /engine \
    && install --directory --owner 1000 --group 1000 --mode 0700 /data
USER 1000:1000
ENV HOME=/tmp XDG_RUNTIME_DIR=/tmp DOCKER_HOST=unix:///engine/docker.sock
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["docker", "version"]
CMD ["rootlesskit", "--net=host", "--copy-up=/etc", "--copy-up=/run", "--state-dir=/tmp/rootlesskit", \
    "dockerd", "--rootless", "--host=unix:///engine/docker.sock", "--group=root", \
    "--data-root=/data", "--exec-root=/tmp/exec", "--pidfile=/tmp/dockerd.pid", \
    "--bridge=none", "--iptables=false", "--ip6tables=false"]
