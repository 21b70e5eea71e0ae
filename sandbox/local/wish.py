"""What a run wishes of the supervisor, and what it is told in the end."""

from __future__ import annotations

from dataclasses import dataclass, field

from sandbox.local.cgroup import Hits


@dataclass(frozen=True, slots=True)
class Wish:
    """A run that waits for a room with a `/work` of `size` bytes, for `seconds` at most."""

    number: int
    size: int
    seconds: float
    memory: int
    """Bytes, as `processes` and `cpus` the bounds of its control group."""
    processes: int
    cpus: float | None = None
    libraries: bool = False
    """Whether a room with the usual libraries loaded is the better one."""


@dataclass(frozen=True, slots=True)
class Gone:
    """How the room of the run `number` ended. `lost`: with its nursery, by no fault of the run."""

    number: int
    lost: bool = False
    hits: Hits = field(default_factory=Hits)
