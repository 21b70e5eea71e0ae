"""Leaves names that fall together where letters' case or their composition does not count."""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict

if TYPE_CHECKING:
    from drills.attacks.context import Context

NAMES = (
    "report.txt",
    "REPORT.TXT",
    "Report.txt",
    "caf\u00e9.txt",
    "cafe\u0301.txt",
    "\u017ftats",
    "stats",
)
"""Each holds its own name: whoever mixes two up is found out."""


def probe(given: dict[str, Any]) -> str | None:
    for name in given["names"]:
        with open(name, "w") as file:
            file.write(name)
    return None


async def drive(context: Context) -> Observation:
    """In a control, what came home is kept by names made alike, as some file systems do."""
    seen = await context.run()
    changed = seen.result.changed
    if context.is_control:
        changed = {_folded(name): data for name, data in changed.items()}
    return replace(seen, notes={"home": changed})


def judge(seen: Observation) -> Verdict:
    home = seen.notes["home"]
    mixed = [name for name in NAMES if home.get(name, b"").decode() != name]
    return reached(f"other bytes, or none, under {mixed[0]!a}") if mixed else reported(seen)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


ATTACK = Attack(
    probe,
    expects="each comes home by its own name with its own bytes",
    given={"names": NAMES},
    drive=drive,
    judge=judge,
)
