"""Sight: what of each rule a run could not look at, so that nobody takes it for proven. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from drills.chaos.checks.case import Case
from drills.chaos.checks.recovery import KILLS
from drills.chaos.oplog import Called, Struck

WHOLE = ""
"""Nothing of the rule was looked at."""

OF_THE_STORE = {
    "J2": "jobs that no key explains",
    "J3": WHOLE,
    "J4": "epochs and leases on record",
    "J5": "which attempt an event is of",
    "J9": "leases of what waits",
    "J12": "keys of facts",
}
"""What only the store's own keys show."""


def not_looked_at(case: Case) -> Mapping[str, str]:
    """By rule, what was not looked at; WHOLE for all of it. A rule that is missing was, in full."""
    unseen: dict[str, str] = {}
    if case.reading.indexes is None:
        unseen |= OF_THE_STORE
    if not case.all(Called):
        unseen |= {"J11": "calls of models after a cancel", "J13": WHOLE}
    if not any(entry.fault in KILLS for entry in case.all(Struck)):
        unseen |= dict.fromkeys(("J7", "J8", "J14"), WHOLE)
    return unseen
