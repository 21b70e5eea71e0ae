"""Ratios of the measurements, and their goals. Pure."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lab.benchmarks.goal import judged
from lab.benchmarks.scale.memory import MemoryUse

FLIGHTS = (50, 200, 500)
LENGTHS = (10, 100, 400)

GOALS = {
    "makespan_ratio_50": 1.2,
    "makespan_vs_baseline_500": 1.5,
    "rss_mb_500": 1024.0,
    "ms_per_call_ratio_400_to_10": 1.5,
    "bytes_per_call_ratio_400_to_10": 1.3,
    "event_bytes_per_call_ratio_400_to_10": 1.3,
    "finished_bytes_per_call": 2_048.0,
    "finished_bytes_otherwise": 6_144.0,
}
"""The greatest value that meets the goal, by key of `--json`. Sizes are in bytes, `rss_mb_500` in
MiB."""


@dataclass(frozen=True, slots=True)
class FlightRun:
    """One measurement of many jobs at once in the service."""

    seconds: float
    """Seconds from the first admission to the end of the last job."""
    memory: MemoryUse
    """The peak of the memory in MiB."""


@dataclass(frozen=True, slots=True)
class Flight:
    """Jobs at once on both sides, in seconds. `ideal` is the time of one job's model calls, since
    all jobs can wait at the same time. Memory in MiB is the peak of all workers with their
    sandboxes; `sandboxes_mb` is the sandboxes' part.
    """

    jobs: int
    ideal: float
    service: float
    baseline: float
    memory_mb: float
    sandboxes_mb: float

    @classmethod
    def of(
        cls, jobs: int, ideal: float, service: Sequence[FlightRun], baseline: Sequence[float]
    ) -> Flight:
        """Combine several rounds: the medians of time, the maximum of memory."""
        most = max((run.memory for run in service), key=lambda memory: memory.together)
        seconds = statistics.median(run.seconds for run in service)
        return cls(jobs, ideal, seconds, statistics.median(baseline), most.together, most.below)

    def __str__(self) -> str:
        times = f"{self.service:.1f} s, baseline {self.baseline:.1f} s, ideal {self.ideal:g} s"
        workers = self.memory_mb - self.sandboxes_mb
        return f"{times}; workers {workers:.0f} MiB, their sandboxes {self.sandboxes_mb:.0f} MiB"

    @property
    def over_ideal(self) -> float:
        """The makespan divided by the ideal."""
        return self.service / self.ideal

    @property
    def over_baseline(self) -> float:
        """The makespan divided by the baseline's makespan."""
        return self.service / self.baseline


@dataclass(frozen=True, slots=True)
class Cost:
    """A job's cost: seconds from its submission to its end, bytes in Redis' memory, the part of
    these bytes for its events, and bytes of files in the artifact store.
    """

    tools: int
    seconds: float
    redis_bytes: int
    event_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class PerCall:
    """The cost of one tool call: medians over the jobs of one length."""

    tools: int
    ms: float
    redis_bytes: float
    event_bytes: float
    file_bytes: float

    @classmethod
    def of(cls, jobs: Sequence[Cost]) -> PerCall:
        """Compute the cost from jobs of one length; a job's fixed cost is divided among its
        calls.
        """
        tools = jobs[0].tools
        return cls(
            tools,
            statistics.median(job.seconds for job in jobs) * 1000 / tools,
            statistics.median(job.redis_bytes for job in jobs) / tools,
            statistics.median(job.event_bytes for job in jobs) / tools,
            statistics.median(job.file_bytes for job in jobs) / tools,
        )


def finished_bytes(short: PerCall, long: PerCall) -> tuple[float, float]:
    """The bytes of a finished job in Redis: per tool call, and the constant part, from a line
    through two lengths.
    """
    less, more = short.redis_bytes * short.tools, long.redis_bytes * long.tools
    a_call = (more - less) / (long.tools - short.tools)
    return a_call, less - a_call * short.tools


def symmetric_order(repetitions: Mapping[int, int]) -> list[int]:
    """Each number, repeated as `repetitions` says, in an order that is nearly the same from both
    ends: if the machine gets slower or faster, this affects all numbers alike.
    """
    numbers = sorted(repetitions)
    half = [number for number in numbers for _ in range(repetitions[number] // 2)]
    middle = [number for number in numbers if repetitions[number] % 2]
    return [*half, *middle, *reversed(half)]


def flight_keys(flights: Sequence[Flight]) -> dict[str, float]:
    """The keys of the first part, for `--json`."""
    keys: dict[str, float] = {}
    for flight in flights:
        keys[f"makespan_ratio_{flight.jobs}"] = round(flight.over_ideal, 3)
        keys[f"makespan_vs_baseline_{flight.jobs}"] = round(flight.over_baseline, 3)
        keys[f"rss_mb_{flight.jobs}"] = round(flight.memory_mb, 1)
        keys[f"sandboxes_mb_{flight.jobs}"] = round(flight.sandboxes_mb, 1)
        keys[f"makespan_s_{flight.jobs}"] = round(flight.service, 2)
        keys[f"baseline_s_{flight.jobs}"] = round(flight.baseline, 2)
    return keys


def length_keys(costs: Sequence[PerCall]) -> dict[str, float]:
    """The keys of the second part; the ratios divide the longest length by the shortest."""
    keys: dict[str, float] = {}
    for cost in costs:
        keys[f"ms_per_call_{cost.tools}"] = round(cost.ms, 2)
        keys[f"bytes_per_call_{cost.tools}"] = round(cost.redis_bytes)
        keys[f"event_bytes_per_call_{cost.tools}"] = round(cost.event_bytes)
        keys[f"file_bytes_per_call_{cost.tools}"] = round(cost.file_bytes)
    short, long = costs[0], costs[-1]
    if long.tools > short.tools:
        a_call, otherwise = finished_bytes(short, long)
        keys["finished_bytes_per_call"] = round(a_call)
        keys["finished_bytes_otherwise"] = round(otherwise)
    between = f"{long.tools}_to_{short.tools}"
    keys[f"ms_per_call_ratio_{between}"] = round(long.ms / short.ms, 3)
    keys[f"bytes_per_call_ratio_{between}"] = round(long.redis_bytes / short.redis_bytes, 3)
    keys[f"event_bytes_per_call_ratio_{between}"] = round(long.event_bytes / short.event_bytes, 3)
    return keys


def rows(keys: Mapping[str, float]) -> list[tuple[str, ...]]:
    """The rows of a table: key, figure, goal, and whether the goal is met."""
    return [(key, f"{value:g}", *judged(GOALS.get(key), value)) for key, value in keys.items()]
