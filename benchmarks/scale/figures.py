"""From what was measured to ratios, and to what they were to be. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmarks.goal import Goal, judged
from benchmarks.scale.memory import Taken

FLIGHTS = (50, 200, 500)
LENGTHS = (10, 100, 400)

GOALS = {
    "makespan_ratio_50": Goal(1.2),
    "makespan_vs_bare_500": Goal(1.5),
    "rss_mb_500": Goal(1024.0),
    "ms_per_call_ratio_400_to_10": Goal(1.5),
    "bytes_per_call_ratio_400_to_10": Goal(1.3),
    "event_bytes_per_call_ratio_400_to_10": Goal(1.3),
    "finished_bytes_per_call": Goal(2_048.0),
    "finished_bytes_otherwise": Goal(6_144.0),
}


@dataclass(frozen=True, slots=True)
class Flown:
    """Seconds from the first admission to the last end, and the most memory that it took."""

    seconds: float
    memory: Taken


@dataclass(frozen=True, slots=True)
class Flight:
    """So many jobs at once on both sides, in seconds; `ideal` is that of the calls of one job one
    after another, since nothing else has to take time: all jobs wait at the same time. Memory in
    MiB is the peak of all workers with their rooms, of which `rooms_mb` is the rooms'.
    """

    jobs: int
    ideal: float
    ours: float
    bare: float
    memory_mb: float
    rooms_mb: float

    @classmethod
    def of(cls, jobs: int, ideal: float, ours: Sequence[Flown], bare: Sequence[float]) -> Flight:
        """From rounds: medians of time, the most of memory."""
        most = max((each.memory for each in ours), key=lambda memory: memory.together)
        seconds = statistics.median(each.seconds for each in ours)
        return cls(jobs, ideal, seconds, statistics.median(bare), most.together, most.below)

    def __str__(self) -> str:
        times = f"{self.ours:.1f} s, bare {self.bare:.1f} s, ideal {self.ideal:g} s"
        workers = self.memory_mb - self.rooms_mb
        return f"{times}; workers {workers:.0f} MiB, their rooms {self.rooms_mb:.0f} MiB"

    @property
    def over_ideal(self) -> float:
        """Makespan over the ideal."""
        return self.ours / self.ideal

    @property
    def over_bare(self) -> float:
        """Makespan over that of the bare loop."""
        return self.ours / self.bare


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a whole job: seconds from its submission to its end, bytes that its data take in Redis'
    memory, those of them that are events, and bytes of files in the artifact store.
    """

    tools: int
    seconds: float
    redis_bytes: int
    event_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class PerCall:
    """What one tool call of a job has cost: medians over the jobs of that length."""

    tools: int
    ms: float
    redis_bytes: float
    event_bytes: float
    file_bytes: float

    @classmethod
    def of(cls, jobs: Sequence[Cost]) -> PerCall:
        """From jobs of one length; what belongs to the whole job is shared among its calls."""
        tools = jobs[0].tools
        return cls(
            tools,
            statistics.median(job.seconds for job in jobs) * 1000 / tools,
            statistics.median(job.redis_bytes for job in jobs) / tools,
            statistics.median(job.event_bytes for job in jobs) / tools,
            statistics.median(job.file_bytes for job in jobs) / tools,
        )


def finished_bytes(short: PerCall, long: PerCall) -> tuple[float, float]:
    """What a finished job keeps in Redis for each of its tool calls, and what besides, from a line
    through two lengths."""
    less, more = short.redis_bytes * short.tools, long.redis_bytes * long.tools
    a_call = (more - less) / (long.tools - short.tools)
    return a_call, less - a_call * short.tools


def there_and_back(times: Mapping[int, int]) -> list[int]:
    """Each number so many times: half of them first, then the odd ones, then the half again in the
    other order.
    """
    half = [each for each in sorted(times) for _ in range(times[each] // 2)]
    return [*half, *(each for each in sorted(times) if times[each] % 2), *reversed(half)]


def flight_keys(flights: Sequence[Flight]) -> dict[str, float]:
    """What `--json` prints of the first part."""
    told: dict[str, float] = {}
    for each in flights:
        told[f"makespan_ratio_{each.jobs}"] = round(each.over_ideal, 3)
        told[f"makespan_vs_bare_{each.jobs}"] = round(each.over_bare, 3)
        told[f"rss_mb_{each.jobs}"] = round(each.memory_mb, 1)
        told[f"rooms_mb_{each.jobs}"] = round(each.rooms_mb, 1)
        told[f"makespan_s_{each.jobs}"] = round(each.ours, 2)
        told[f"bare_s_{each.jobs}"] = round(each.bare, 2)
    return told


def length_keys(costs: Sequence[PerCall]) -> dict[str, float]:
    """What it prints of the second; the ratios are those of the longest to the shortest."""
    told: dict[str, float] = {}
    for each in costs:
        told[f"ms_per_call_{each.tools}"] = round(each.ms, 2)
        told[f"bytes_per_call_{each.tools}"] = round(each.redis_bytes)
        told[f"event_bytes_per_call_{each.tools}"] = round(each.event_bytes)
        told[f"file_bytes_per_call_{each.tools}"] = round(each.file_bytes)
    short, long = costs[0], costs[-1]
    if long.tools > short.tools:
        a_call, otherwise = finished_bytes(short, long)
        told["finished_bytes_per_call"] = round(a_call)
        told["finished_bytes_otherwise"] = round(otherwise)
    between = f"{long.tools}_to_{short.tools}"
    told[f"ms_per_call_ratio_{between}"] = round(long.ms / short.ms, 3)
    told[f"bytes_per_call_ratio_{between}"] = round(long.redis_bytes / short.redis_bytes, 3)
    told[f"event_bytes_per_call_ratio_{between}"] = round(long.event_bytes / short.event_bytes, 3)
    return told


def rows(keys: Mapping[str, float]) -> list[tuple[str, ...]]:
    """A table: each key, its figure, its goal, and whether it is met."""
    return [(key, f"{value:g}", *judged(GOALS.get(key), value)) for key, value in keys.items()]
