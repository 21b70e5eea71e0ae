"""Lays files by paths that lead out of the work area, or that mean two things at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict

if TYPE_CHECKING:
    from drills.attacks.context import Context

PATHS = (
    *(
        "../escaped",
        "a/../../escaped",
        "/tmp/fettle-escaped",
        "/work/x",
        "//x",
        "./x",
        "a/./x",
        "a//x",
    ),
    *(
        "",
        ".",
        "..",
        "a/",
        "a/..",
        "/",
        "x\0y",
        "x\ny",
        "x\x1b[2J",
        "x\ud800",
        "\udcff",
        "a/" * 40 + "x",
    ),
    *("x" * 256, "/".join(["y" * 200] * 6), "x\x7f", "x\r", "x\x9b31m", "x\u202egnp", "x\u2028"),
)


def probe(given: dict[str, Any]) -> str | None:
    import os

    for place in ("..", "/tmp", "/run", "/"):
        if found := [name for name in os.listdir(place) if "escaped" in name]:
            return f"laid outside of the work area: {place}/{found[0]}"
    return None


async def drive(context: Context) -> Observation:
    """A control lays the first path alone, which leads no further than its own folder."""
    taken = []
    for path in PATHS[:1] if context.is_control else PATHS:
        try:
            seen = await context.run(files={path: b"escaped\n"})
        except ValueError:
            continue
        taken.append((path, seen))
    if taken:
        return replace(taken[0][1], notes={"taken": ascii(taken[0][0])[:80]})
    both = {"a": b"file", "a/b": b"in it"}
    try:
        return replace(
            await context.run(files=both), notes={"taken": "a file that is a folder too"}
        )
    except ValueError:
        return replace(await context.run(files={"fine/x.txt": b"fine\n"}), notes={"taken": ""})


def judge(seen: Observation) -> Verdict:
    taken = seen.notes["taken"]
    return reached(f"a file was laid by the path {taken}") if taken else reported(seen)


ATTACK = Attack(
    probe,
    expects="each such path is refused with a ValueError before anything is laid",
    drive=drive,
    judge=judge,
)
