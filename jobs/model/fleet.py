"""FleetRecord: the operator's rules for all workers, which Redis keeps.

See ADR 72.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from jobs.errors import JobsError

MOST_CHANGES = 100
"""The newest changes that a record keeps."""


class FleetUnreadable(JobsError):
    """The record of the fleet in Redis is damaged: no worker may guess the rules."""


@dataclass(frozen=True, slots=True)
class FleetRules:
    """Rules that have an effect on the jobs of every worker: see `settings.base.FleetSettings`."""

    lease_seconds: float
    heartbeat_seconds: float
    overdue_seconds: float
    sweep_seconds: float
    retries: int
    retry_seconds: float
    retry_longest_seconds: float
    retention_days: float
    blob_grace_seconds: float
    retention_sweep_seconds: float
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)
    """The terms of new jobs that leave them out, by name. Only the API uses them: for workers, a
    change of them is no change of the rules."""

    @property
    def retention_ms(self) -> int:
        """How long a finished job is kept."""
        return int(self.retention_days * 86_400_000)

    def differences(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The `values` that differ from these rules, by name."""
        current = asdict(self)
        return {name: value for name, value in values.items() if current[name] != value}


@dataclass(frozen=True, slots=True)
class FleetChange:
    """An audit entry."""

    version: int
    at: int
    """The time of the change, in ms by Redis' clock."""
    by: str
    """The name of a key, or the id of a worker."""
    key_id: str
    """The key's id. '': a worker made the change."""
    values: Mapping[str, Any]
    """The values that the change set, by name."""


@dataclass(frozen=True, slots=True)
class FleetRecord:
    """The rules and their history."""

    version: int
    """Counts the changes."""
    rules: FleetRules
    changes: tuple[FleetChange, ...] = ()
    """The newest changes, the last one last."""

    def changed(
        self, values: Mapping[str, Any], at: int, *, by: str, key_id: str = ""
    ) -> FleetRecord:
        """The next version, with these values."""
        change = FleetChange(self.version + 1, at, by, key_id, values)
        changes = (*self.changes, change)[-MOST_CHANGES:]
        return FleetRecord(change.version, replace(self.rules, **values), changes)


def first_record(values: Mapping[str, Any], at: int, *, by: str, key_id: str = "") -> FleetRecord:
    """The first version, with a value for each rule."""
    change = FleetChange(1, at, by, key_id, values)
    return FleetRecord(1, FleetRules(**values), (change,))


def dump(record: FleetRecord) -> str:
    """The record as JSON."""
    return json.dumps(asdict(record), separators=(",", ":"))


def load(text: str | bytes) -> FleetRecord:
    """The record that `dump` wrote. Rules of newer releases are ignored. Raises FleetUnreadable."""
    try:
        plain = json.loads(text)
        defaults = dict(plain["rules"].pop("defaults", {}))  # earlier releases have none
        names = {rule.name for rule in fields(FleetRules)} - {"defaults"}
        rules = {name: plain["rules"][name] for name in names}
        _check(rules)
        changes = tuple(FleetChange(**change) for change in plain["changes"])
        return FleetRecord(int(plain["version"]), FleetRules(**rules, defaults=defaults), changes)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        detail = f"the record of the fleet (fettle:fleet) cannot be read: {error}"
        raise FleetUnreadable(detail) from error


def _check(rules: Mapping[str, Any]) -> None:
    """Raise ValueError if a rule is no number, or could not be followed."""
    for name, value in rules.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        zero = name == "retries" and value == 0
        if not number or not math.isfinite(value) or not (value > 0 or zero):
            raise ValueError(f"{name} is {value!r}")
