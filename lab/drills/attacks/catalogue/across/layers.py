"""What a run on layers, as jobs on repositories have them, learns of another job's, or leaves."""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sandbox.local.stepdown import give_to_sandbox_user

from lab.drills.attacks.attack import Given, Instead, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import Observation, Verdict
from lab.drills.attacks.probes.primitives import (
    allowed,
    attempt,
    holds,
    libc,
    names_in,
    read,
    write,
)

OWN_FILES = {"file": b"base", "folder/one": b"1", "folder/two": b"2"}


@asynccontextmanager
async def layered(
    context: Context,
) -> AsyncIterator[tuple[Context, Path, dict[str, Any]]]:
    """A backend over a directory of two layers: the run's own, and one with the secret. The third
    is what a probe is given of them. To a control, which has no layers, the directory is open.
    """
    token = secrets.token_hex(4)
    own, other = f"own-{token}", f"other-{token}"
    with TemporaryDirectory(
        prefix="fettle-layers-", ignore_cleanup_errors=True
    ) as folder:
        top = Path(folder) / "layers"
        for name, data in OWN_FILES.items():
            (top / own / name).parent.mkdir(parents=True, exist_ok=True)
            (top / own / name).write_bytes(data)
        (top / other).mkdir()
        (top / other / "file").write_text(context.host.secret)
        for layer in (top / own, top / other):
            give_to_sandbox_user(layer)
            for each in (layer, *layer.rglob("*")):
                each.chmod(0o777)
        for place in (top, top.parent):
            place.chmod(0o755)
        given = {"layers": str(top), "own": own, "other": other}
        if context.backend.over is None:
            yield context, top / own, given
            return
        sandbox = context.backend.over(top)
        try:
            yield replace(context, sandbox=sandbox, layers=(own,)), top / own, given
        finally:
            await sandbox.close()


async def on_a_layer(context: Context) -> Observation:
    """Run the probe once, on its own layer."""
    async with layered(context) as (there, _, given):
        return await there.run(given=given)


def mounted() -> Iterator[str]:
    """Places where something is mounted, and what is mounted there, but for the system's."""
    for line in (
        (read("/proc/self/mountinfo") or b"").decode(errors="replace").splitlines()
    ):
        fields = line.split()
        for place in (fields[3], fields[4]):
            if not place.startswith(("/usr", "/proc", "/sys", "/lib", "/opt", "/dev")):
                yield place


@attack(drive=on_a_layer)
def other_layers(given: Given) -> str | None:
    """Looks for the layer of another job wherever one could be."""
    roots = [
        f"/proc/{pid}/{name}" for pid in names_in("/proc") for name in ("root", "cwd")
    ]
    opened = [f"/proc/{pid}/fd/{fd}" for pid in names_in("/proc") for fd in range(20)]
    places = [
        given["layers"],
        "/run/trees",
        "/base",
        "/work",
        "/work/..",
        *mounted(),
        *opened,
    ]
    for place in dict.fromkeys([*places, *roots]):
        below = (place, f"{place}/layers", f"{place}/run/trees", f"{place}/..")
        for folder in (
            each for top in below for each in (top, f"{top}/{given['other']}")
        ):
            if holds(given, read(f"{folder}/file") or b""):
                return f"read {folder}/file"
    return None


async def written(context: Context) -> Verdict:
    """Run the probe, then look at the layer, as the host has it and as the next run sees it."""
    async with layered(context) as (there, layer, given):
        seen = await there.run(given=given)
        found = {
            str(each.relative_to(layer)): each.read_bytes()
            for each in layer.rglob("*")
            if each.is_file()
        }
        faults = [] if found == OWN_FILES else [f"the host's layer is now {found}"]
        if not context.is_control:
            after = await there.run(changed_for_the_next)
            faults += (
                [after.report.reached] if after.report and after.report.reached else []
            )
        return judged(seen, faults)


def changed_for_the_next() -> str | None:
    """Whether a run finds its layer as something else than it was made."""
    found = {
        name: read(f"/work/{name}") for name in ("file", "folder/one", "folder/two")
    }
    wanted = {"file": b"base", "folder/one": b"1", "folder/two": b"2"}
    return None if found == wanted else f"the next run found {found}"


BIND, REMOUNT = 4096, 32


@attack(drive=written)
def layer_written(given: Given) -> str | None:
    """Writes to its own layer, by every way to it, for the host and later runs to find."""
    own = [f"{top}/{given['own']}" for top in (given["layers"], "/run/trees")]
    for place in ("/run/trees", "/base", "/work", *own):
        libc().mount(
            b"none", place.encode(), None, ctypes.c_ulong(REMOUNT | BIND), None
        )
    for place in ("/base", *own, "/work"):
        for name in ("file", "folder/one", "new"):
            allowed(os.chmod, f"{place}/{name}", 0o777)
            allowed(write, f"{place}/{name}", given["mark"])
        allowed(os.unlink, f"{place}/folder/two")
        allowed(os.link, "/work/new", f"{place}/linked")
    return None


async def marked_in_vain(context: Context) -> Verdict:
    """Run the probe: what it wrote must come, and nothing that it only marked is gone."""
    async with layered(context) as (there, _, given):
        seen = await there.run(given=given)
        result = seen.result
        faults = (
            [f"reported as deleted: {sorted(result.deleted)}"] if result.deleted else []
        )
        if result.changed.get("folder/honest") != b"work":
            faults.append("what it wrote in a marked directory did not come")
        return judged(seen, faults)


def delete_unmarked() -> str | None:
    """The control: what is deleted is seen."""
    os.unlink("/work/folder/one")
    return None


@attack(drive=marked_in_vain, control=Instead(delete_unmarked))
def forged_marks(given: Given) -> str | None:
    """Forges the marks of an overlay: of deleted and opaque directories, and of other names."""
    write("/work/folder/honest", b"work")
    os.mkdir("/work/away")
    for place in ("/work", "/work/folder", "/work/away", "/work/folder/honest"):
        for prefix in ("user.overlay.", "trusted.overlay.", "user.overlay.overlay."):
            for name in ("opaque", "whiteout", "redirect", "metacopy", "origin"):
                for value in (b"y", b"x", b"", f"/../{given['other']}".encode()):
                    allowed(os.setxattr, place, prefix + name, value)
    for place in ("/work/file", "/work/folder/two", "/work/mark"):
        attempt(os.mknod, f"{place}.wh", 0o20000, 0)
        attempt(os.mknod, place.replace("/file", "/.wh.file"), 0o20000, 0)
    for path in ("/work/file", "/work/away/file", "/work/folder/file"):
        if holds(given, read(path) or b""):
            return f"read another job's file as {path}"
    return None
