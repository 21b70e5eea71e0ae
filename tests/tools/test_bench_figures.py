"""The arithmetic of the benchmarks: from measurements to the keys of `--json`, and to goals."""

from __future__ import annotations

import json
from typing import Any

from lab.benchmarks.goal import judged
from lab.benchmarks.sandbox import figures as sandbox
from lab.benchmarks.scale import figures as scale
from lab.benchmarks.scale.figures import FLIGHTS, GOALS, LENGTHS, Cost, Flight, FlightRun, PerCall
from lab.benchmarks.scale.memory import MemoryUse
from lab.benchmarks.tokens.__main__ import figures, missed
from lab.benchmarks.tokens.counted import Sent
from lab.provider import Request
from lab.provider.openai import messages


def test_a_figure_at_its_bound_meets_the_goal() -> None:
    assert [judged(0.5, figure)[1] for figure in (0.5, 0.501)] == ["met", "missed"]
    assert judged(None, 0.5) == ("", "")


def test_the_json_of_sandbox_has_every_ratio_with_both_sides() -> None:
    ratios = [
        sandbox.latency("docker_cold_ratio", "cold", [0.110, 9.0, 0.1], [0.010]),
        sandbox.rate("local_runs_per_s_ratio_2", "r", [200.0], [100.0]),
    ]
    assert sandbox.keys(ratios) == {
        "docker_cold_ratio": 11.0,
        "local_runs_per_s_ratio_2": 2.0,
        "docker_cold_ms": 110.0,
        "docker_cold_baseline_ms": 10.0,
        "local_runs_per_s_2_per_s": 200.0,
        "local_runs_per_s_2_baseline_per_s": 100.0,
    }


def test_several_flights_give_the_median_time_and_the_largest_memory() -> None:
    memory = (MemoryUse(10.0, 5.0), MemoryUse(11.0, 6.0), MemoryUse(1.0, 1.0))
    runs = [FlightRun(seconds, use) for seconds, use in zip((6.0, 9.0, 7.0), memory, strict=True)]
    assert scale.flight_keys([Flight.of(50, 5.0, runs, [8.0, 1.0, 9.0])]) == {
        "makespan_ratio_50": 1.4,
        "makespan_vs_baseline_50": 0.875,
        "rss_mb_50": 17.0,
        "sandboxes_mb_50": 6.0,
        "makespan_s_50": 7.0,
        "baseline_s_50": 8.0,
    }


def test_the_growth_of_a_long_job_is_the_ratio_of_the_longest_to_the_shortest() -> None:
    assert scale.symmetric_order({400: 1, 10: 4, 100: 2}) == [10, 10, 100, 400, 100, 10, 10]
    jobs = [Cost(10, seconds, 2_000, 500, 90) for seconds in (0.4, 9.0, 0.3)]
    costs = [PerCall.of(jobs), PerCall(100, 1.0, 1.0, 1.0, 1.0), PerCall(400, 50.0, 220.0, 55.0, 9)]
    keys = scale.length_keys(costs)
    assert keys["ms_per_call_10"] == 40.0
    assert keys["ms_per_call_ratio_400_to_10"] == 1.25
    assert keys["bytes_per_call_ratio_400_to_10"] == 1.1
    assert keys["event_bytes_per_call_ratio_400_to_10"] == 1.1


def test_every_goal_of_scale_belongs_to_a_reported_figure() -> None:
    flights = [Flight(jobs, 5.0, 6.0, 7.0, 1.0, 1.0) for jobs in FLIGHTS]
    costs = [PerCall(tools, 1.0, 1.0, 1.0, 1.0) for tools in LENGTHS]
    assert GOALS.keys() <= (scale.flight_keys(flights) | scale.length_keys(costs)).keys()


def request(*texts: str) -> Request:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": text} for text in texts]}
    return Request("openai", "m", messages(body), (), None, False, "/", {}, body, 0.0)


def size(*texts: str) -> int:
    sent = [{"role": "user", "content": text} for text in texts]
    return len("[]") + sum(len(json.dumps(message, separators=(",", ":"))) for message in sent)


def test_tokens_are_counted_in_bytes_and_a_cache_has_the_earlier_prefix() -> None:
    first, second, third = ("a" * 40,), ("a" * 40, "b" * 80), ("a" * 40, "-", "c")
    tokens_sent = Sent.of([request(*first), request(*second), request(*third)], request(*first))
    assert tokens_sent.tokens == -(-(size(*first) + size(*second) + size(*third)) // 4)
    assert tokens_sent.cached == -(-(size(*first) + size("a" * 40)) // 4)
    keys = figures({100: (Sent(260, 100, 1_310, 7_132), Sent(1_000, 900, 1_310, 7_132))})
    assert (keys["price_ratio_100"], keys["cached_untrimmed_100"]) == (0.895, 0.9)
    assert keys["critic_growth_100"] == 2.0
    assert missed(keys) == ["price_ratio_100", "overhead"]
    assert missed({"price_ratio_100": 0.8}) == []
