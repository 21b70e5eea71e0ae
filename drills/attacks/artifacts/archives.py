"""Leaves archives: bombs, paths that lead out, links. They are bytes, and stay bytes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.steps.homecoming import came_home, checked

if TYPE_CHECKING:
    from drills.attacks.context import Context
    from drills.attacks.outcome import Observation

NAMES = ("bomb.zip", "out.zip", "out.tar", "layer.tar", "bomb.gz")


def probe(given: dict[str, Any]) -> str | None:
    import gzip
    import io
    import os
    import tarfile
    import zipfile

    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(48 << 20))
    with zipfile.ZipFile("out.zip", "w") as archive:
        archive.writestr(f"../../../../tmp/{given['mark']}", "out")
    with gzip.open("bomb.gz", "wb") as file:
        file.write(bytes(48 << 20))
    for name in ("out.tar", "layer.tar"):
        with tarfile.open(name, "w") as archive:
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
            archive.addfile(link)
            inside = tarfile.TarInfo(f"link/{given['mark']}")
            inside.size = 3
            archive.addfile(inside, io.BytesIO(b"out"))
    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    if not given["careless"]:
        return None
    with zipfile.ZipFile("bomb.zip") as archive:
        size = sum(each.file_size for each in archive.infolist())
    return f"{os.path.getsize('bomb.zip')} bytes unpack to {size}"


async def drive(context: Context) -> Observation:
    seen = checked(context, await context.run(given={"careless": context.is_control}))
    odd = set(seen.result.changed) - {*NAMES, "honest.txt"}
    if odd:
        return replace(seen, notes={"faults": [f"unpacked: {sorted(odd)[:3]}"]})
    return seen


ATTACK = Attack(
    probe,
    expects="they come home as they are, and nothing of them is unpacked",
    given={"comes": ["honest.txt"]},
    drive=drive,
    judge=came_home,
)
