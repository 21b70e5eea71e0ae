"""PipPackages: the port Packages, by pip in a process of its own.

pip resolves and downloads, and installs nothing. It has an empty environment, no configuration
files, no cache, and takes wheels only. It reaches the network by a proxy of this worker, which
allows the operator's index and the hosts named for it (`worker.egress`).

Why: docs/decisions/0046-packages-by-pip.md
"""

from __future__ import annotations

import asyncio
import hashlib
import resource
import ssl
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name, parse_wheel_filename

from agents.errors import ToolRefused
from agents.ports.network import Target, Wheel
from sandbox.protocol import MIB
from settings.tools import ToolSettings
from worker.egress.connect import Pinned, resolved
from worker.egress.hosts import Hosts, authority
from worker.egress.packages.allowed import Allowed, Rule, read
from worker.egress.packages.stubs import local_version, write_stub
from worker.egress.proxy import Proxy

PAGE_BYTES = 32 * MIB
"""Bytes allowed for pages of the index, besides the wheels: those of large packages have some
MB."""
MEMORY_BYTES = 2_048 * MIB
AT_ONCE = 4
"""Processes of pip in one worker: each takes 60 MB, and half a second to start."""
MOST_PACKAGES = 100
NAMES_SHOWN = 30
ERROR_CHARACTERS = 1_000
LISTED = "the operator's list"
INDEX, CONSTRAINTS, STUBS, WHEELS = "index.txt", "constraints.txt", "stubs", "wheels"
"""What pip reads and writes, in one private folder."""
_OPTIONS = (
    *("--isolated", "--no-input", "--disable-pip-version-check", "--no-color"),
    *("--no-cache-dir", "--progress-bar=off", "--keyring-provider=disabled", "--retries=1"),
)


@dataclass(frozen=True, slots=True)
class PipPackages:
    """Implements the port Packages. `index` is the operator's address, with its password if any;
    `hosts` are what may be connected to for it. Sizes in bytes."""

    index: str = field(repr=False)
    hosts: Hosts
    allowed: Allowed
    any_dependency: bool
    most_bytes: int
    seconds: float
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @classmethod
    def over(cls, settings: ToolSettings) -> PipPackages | None:
        """None where the operator allows no packages. Raises ListUnfit, and OSError for a list that
        cannot be read."""
        if settings.install_list is None or settings.install_index is None:
            return None
        index = settings.install_index.get_secret_value()
        url = httpx.URL(index)
        return cls(
            index=index,
            hosts=Hosts((authority(url), *settings.install_hosts), http=url.scheme == "http"),
            allowed=read(Path(settings.install_list).read_text()),
            any_dependency=settings.install_dependencies,
            most_bytes=settings.install_bytes,
            seconds=settings.install_seconds,
        )

    async def wheels(self, wanted: Sequence[str], target: Target) -> Sequence[Wheel]:
        """See `agents.ports.network.Packages`."""
        rules = self.allowed.rules(target.markers)
        for each in wanted:
            self._require_listed(_requirement(each), rules)
        with tempfile.TemporaryDirectory(prefix="fettle-pip-") as folder:
            place = Path(folder)
            _write_inputs(place, self.index, rules, target)
            try:
                async with self.turns, asyncio.timeout(self.seconds):
                    await self._download(place, wanted, target)
            except TimeoutError:
                raise ToolRefused(f"the index took longer than {self.seconds:g} s") from None
            found = [_wheel(path) for path in sorted((place / WHEELS).glob("*.whl"))]
        return self._checked([each for each in found if not _is_there(each, target)], rules)

    def _require_listed(self, requirement: Requirement, rules: Mapping[str, Rule]) -> None:
        name = canonicalize_name(requirement.name)
        if name not in rules:
            names = sorted(rules)
            more = ", ..." if len(names) > NAMES_SHOWN else ""
            raise ToolRefused(f"{name} is not on {LISTED}: {', '.join(names[:NAMES_SHOWN])}{more}")

    async def _download(self, folder: Path, wanted: Sequence[str], target: Target) -> None:
        """Run pip. Raises ToolRefused with what it says where it fails."""
        proxy = Proxy(self.hosts, Pinned(resolved, private=True), self.most_bytes + PAGE_BYTES)
        async with proxy.serve() as address:
            process = await asyncio.create_subprocess_exec(
                *_command(folder, target, address),
                *wanted,
                env={"HOME": str(folder), "TMPDIR": str(folder), **_NO_CONFIGURATION},
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            try:
                _bound(process.pid, self.most_bytes + PAGE_BYTES)
                out, err = await process.communicate()
            finally:
                if process.returncode is None:
                    with suppress(ProcessLookupError):
                        process.kill()
                    await process.wait()
        if process.returncode != 0:
            raise ToolRefused(proxy.refused[0] if proxy.refused else _error(out, err, folder))

    def _checked(self, wheels: Sequence[Wheel], rules: Mapping[str, Rule]) -> Sequence[Wheel]:
        """The wheels, if the operator allows all of them. Raises ToolRefused."""
        if sum(len(each.content) for each in wheels) > self.most_bytes:
            raise ToolRefused(f"that is more than {self.most_bytes} bytes of packages")
        if len(wheels) > MOST_PACKAGES:
            raise ToolRefused(f"that is more than {MOST_PACKAGES} packages")
        for each in wheels:
            name, *_ = parse_wheel_filename(each.filename)
            rule = rules.get(name)
            if rule is None and (self.allowed.pinned or not self.any_dependency):
                raise ToolRefused(f"{name} is needed too, and is not on {LISTED}")
            if rule is not None and rule.hashes and each.digest not in rule.hashes:
                raise ToolRefused(
                    f"{each.filename} is not one of the files on {LISTED}: sha256 {each.digest}"
                )
        return wheels


_NO_CONFIGURATION = {"PIP_CONFIG_FILE": "/dev/null", "LANG": "C.UTF-8"}
"""`--isolated` alone leaves the machine's configuration files in place."""


def _write_inputs(folder: Path, index: str, rules: Mapping[str, Rule], target: Target) -> None:
    """The index stands in a file, for a command line is seen by other users of the machine."""
    (folder / STUBS).mkdir()
    (folder / WHEELS).mkdir()
    (folder / INDEX).write_text(f"--index-url {index}\n")
    bounds = {name: str(rule.specifier) for name, rule in rules.items() if rule.specifier}
    for name, version in target.there.items():
        write_stub(folder / STUBS, name, version)
        bounds[name] = f"=={local_version(version)}"
    text = "".join(f"{name}{each}\n" for name, each in bounds.items())
    (folder / CONSTRAINTS).write_text(text)


def _command(folder: Path, target: Target, proxy: str) -> list[str]:
    """Wheels for the sandbox's interpreter. Conditions of dependencies (`python_version < '3.12'`)
    are read by pip for its own, which is the worker's."""
    paths = ssl.get_default_verify_paths()
    trusted = paths.cafile or paths.capath
    platforms = dict.fromkeys(tag.rpartition("-")[2] for tag in target.tags)
    return [
        *(sys.executable, "-I", "-m", "pip", "download", *_OPTIONS),
        *("--only-binary", ":all:", "--dest", str(folder / WHEELS), "--proxy", proxy),
        *(("--cert", trusted) if trusted else ()),
        *("--find-links", str(folder / STUBS), "--constraint", str(folder / CONSTRAINTS)),
        *("--python-version", target.markers["python_full_version"].rstrip("+")),
        *("--implementation", target.tags[0][:2]),
        *(part for each in platforms if each != "any" for part in ("--platform", each)),
        *("--requirement", str(folder / INDEX), "--"),
    ]


def _bound(pid: int, file_bytes: int) -> None:
    """A wheel is an untrusted zip file: reading its metadata is bounded in memory."""
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (file_bytes, file_bytes))


def _requirement(text: str) -> Requirement:
    try:
        requirement = Requirement(text)
    except InvalidRequirement as error:
        raise ToolRefused(f"{text!r} is not a valid requirement: {error}") from None
    if requirement.url or requirement.marker or "\n" in text:
        raise ToolRefused(f"a package comes from the index, under its name: {text!r}")
    return requirement


def _wheel(path: Path) -> Wheel:
    content = path.read_bytes()
    return Wheel(path.name, content, hashlib.sha256(content).hexdigest())


def _is_there(wheel: Wheel, target: Target) -> bool:
    """Whether this is a stub of what is installed already."""
    name, *_ = parse_wheel_filename(wheel.filename)
    return name in target.there


def _error(out: bytes, err: bytes, folder: Path) -> str:
    """pip's errors, and the requirements that are in conflict."""
    said = err.decode(errors="replace").replace(f"{folder}/", "")
    errors = [line.removeprefix("ERROR: ") for line in said.splitlines() if "ERROR: " in line]
    _, _, conflict = out.decode(errors="replace").partition("The conflict is caused by:\n")
    lines = [*errors, *conflict.partition("\n\n")[0].splitlines()]
    return f"pip: {'; '.join(map(str.strip, lines)) or said.strip()}"[:ERROR_CHARACTERS]
