"""A run on layers, as jobs on repositories have them, learns of another job's layer, or changes
one.
"""

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

from lab.drills.attacks.attack import Inputs, OtherProbe, attack
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import judged
from lab.drills.attacks.outcome import AttackVerdict, Observation
from lab.drills.attacks.probes.primitives import (
    allowed,
    attempt,
    holds,
    libc,
    names_in,
    read,
    write,
)
from sandbox.local.stepdown import give_to_sandbox_user

OWN_FILES = {"file": b"base", "folder/one": b"1", "folder/two": b"2"}


@asynccontextmanager
async def layered(context: Context) -> AsyncIterator[tuple[Context, Path, dict[str, Any]]]:
    """A backend over a directory of two layers: the run's own layer, and a layer with the secret.
    The third value is the probe's inputs. A control has no layers and sees the directory.
    """
    token = secrets.token_hex(4)
    own_name, other_name = f"own-{token}", f"other-{token}"
    with TemporaryDirectory(prefix="fettle-layers-", ignore_cleanup_errors=True) as folder:
        top = Path(folder) / "layers"
        for name, data in OWN_FILES.items():
            (top / own_name / name).parent.mkdir(parents=True, exist_ok=True)
            (top / own_name / name).write_bytes(data)
        (top / other_name).mkdir()
        (top / other_name / "file").write_text(context.host.secret)
        for layer in (top / own_name, top / other_name):
            give_to_sandbox_user(layer)
            for path in (layer, *layer.rglob("*")):
                path.chmod(0o777)
        for parent in (top, top.parent):
            parent.chmod(0o755)
        inputs = {"layers": str(top), "own": own_name, "other": other_name}
        if context.backend.over is None:
            yield context, top / own_name, inputs
            return
        sandbox = context.backend.over(top)
        try:
            yield replace(context, sandbox=sandbox, layers=(own_name,)), top / own_name, inputs
        finally:
            await sandbox.close()


async def on_a_layer(context: Context) -> Observation:
    """Run the probe once, on its own layer."""
    async with layered(context) as (layered_context, _, inputs):
        return await layered_context.run(inputs=inputs)


def mounted() -> Iterator[str]:
    """Mount points and mounted trees, without the mounts of the system."""
    for line in (read("/proc/self/mountinfo") or b"").decode(errors="replace").splitlines():
        fields = line.split()
        for mount_path in (fields[3], fields[4]):
            if not mount_path.startswith(("/usr", "/proc", "/sys", "/lib", "/opt", "/dev")):
                yield mount_path


@attack(drive=on_a_layer)
def other_layers(inputs: Inputs) -> str | None:
    """Looks for the layer of another job in all possible folders."""
    roots = [f"/proc/{pid}/{name}" for pid in names_in("/proc") for name in ("root", "cwd")]
    opened = [f"/proc/{pid}/fd/{fd}" for pid in names_in("/proc") for fd in range(20)]
    folders = [inputs["layers"], "/run/trees", "/base", "/work", "/work/..", *mounted(), *opened]
    for candidate in dict.fromkeys([*folders, *roots]):
        below = (candidate, f"{candidate}/layers", f"{candidate}/run/trees", f"{candidate}/..")
        for folder in (parent for top in below for parent in (top, f"{top}/{inputs['other']}")):
            if holds(inputs, read(f"{folder}/file") or b""):
                return f"read {folder}/file"
    return None


async def written(context: Context) -> AttackVerdict:
    """Run the probe, then compare the layer, as the host and as the next run see it."""
    async with layered(context) as (layered_context, layer, inputs):
        observation = await layered_context.run(inputs=inputs)
        changed_files = {
            str(path.relative_to(layer)): path.read_bytes()
            for path in layer.rglob("*")
            if path.is_file()
        }
        faults = [] if changed_files == OWN_FILES else [f"the host's layer is now {changed_files}"]
        if not context.is_control:
            after = await layered_context.run(changed_for_the_next)
            faults += [after.report.reached] if after.report and after.report.reached else []
        return judged(observation, faults)


def changed_for_the_next() -> str | None:
    """Whether a run finds its layer changed."""
    files = {name: read(f"/work/{name}") for name in ("file", "folder/one", "folder/two")}
    expected = {"file": b"base", "folder/one": b"1", "folder/two": b"2"}
    return None if files == expected else f"the next run found {files}"


BIND, REMOUNT = 4096, 32


@attack(drive=written)
def layer_written(inputs: Inputs) -> str | None:
    """Writes to its own layer in every possible way; the host and later runs look for it."""
    own_folders = [f"{top}/{inputs['own']}" for top in (inputs["layers"], "/run/trees")]
    for folder in ("/run/trees", "/base", "/work", *own_folders):
        libc().mount(b"none", folder.encode(), None, ctypes.c_ulong(REMOUNT | BIND), None)
    for folder in ("/base", *own_folders, "/work"):
        for name in ("file", "folder/one", "new"):
            allowed(os.chmod, f"{folder}/{name}", 0o777)
            allowed(write, f"{folder}/{name}", inputs["mark"])
        allowed(os.unlink, f"{folder}/folder/two")
        allowed(os.link, "/work/new", f"{folder}/linked")
    return None


async def marked_in_vain(context: Context) -> AttackVerdict:
    """Run the probe. The files that it wrote must arrive, and files that it only marked must not be
    removed.
    """
    async with layered(context) as (layered_context, _, inputs):
        observation = await layered_context.run(inputs=inputs)
        result = observation.result
        faults = [f"reported as deleted: {sorted(result.deleted)}"] if result.deleted else []
        if result.changed.get("folder/honest") != b"work":
            faults.append("what it wrote in a marked directory did not come")
        return judged(observation, faults)


def delete_unmarked() -> str | None:
    """The control: a deleted file is noticed."""
    os.unlink("/work/folder/one")
    return None


@attack(drive=marked_in_vain, control=OtherProbe(delete_unmarked))
def forged_marks(inputs: Inputs) -> str | None:
    """Forges the marks of an overlay: of deleted and opaque directories, and other names."""
    write("/work/folder/honest", b"work")
    os.mkdir("/work/away")
    for folder in ("/work", "/work/folder", "/work/away", "/work/folder/honest"):
        for prefix in ("user.overlay.", "trusted.overlay.", "user.overlay.overlay."):
            for name in ("opaque", "whiteout", "redirect", "metacopy", "origin"):
                for value in (b"y", b"x", b"", f"/../{inputs['other']}".encode()):
                    allowed(os.setxattr, folder, prefix + name, value)
    for folder in ("/work/file", "/work/folder/two", "/work/mark"):
        attempt(os.mknod, f"{folder}.wh", 0o20000, 0)
        attempt(os.mknod, folder.replace("/file", "/.wh.file"), 0o20000, 0)
    for path in ("/work/file", "/work/away/file", "/work/folder/file"):
        if holds(inputs, read(path) or b""):
            return f"read another job's file as {path}"
    return None
