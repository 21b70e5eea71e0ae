"""The arithmetic of the benchmark of scale."""

from __future__ import annotations

from benchmarks.provider import Message, Request
from benchmarks.scale import figures, model
from benchmarks.scale.figures import FLIGHTS, GOALS, LENGTHS, Cost, Flight, Flown, PerCall
from benchmarks.scale.memory import Taken

FLIGHT = Flight(50, ideal=5.0, service=6.0, baseline=8.0, memory_mb=300.04, sandboxes_mb=100.0)


def test_makespans_are_held_against_the_ideal_and_the_bare_loop() -> None:
    assert figures.flight_keys([FLIGHT]) == {
        "makespan_ratio_50": 1.2,
        "makespan_vs_baseline_50": 0.75,
        "rss_mb_50": 300.0,
        "sandboxes_mb_50": 100.0,
        "makespan_s_50": 6.0,
        "baseline_s_50": 8.0,
    }


def test_of_several_rounds_the_median_counts_and_the_most_memory() -> None:
    flown = [
        Flown(6.0, Taken(10.0, 5.0)),
        Flown(9.0, Taken(11.0, 6.0)),
        Flown(7.0, Taken(1.0, 1.0)),
    ]
    found = Flight.of(50, 5.0, flown, [8.0, 1.0, 9.0])
    assert found == Flight(50, 5.0, 7.0, 8.0, 17.0, 6.0)
    assert "7.0 s, baseline 8.0 s, ideal 5 s; workers 11 MiB, their sandboxes 6 MiB" in str(found)


def test_short_jobs_come_before_and_after_long_ones() -> None:
    assert figures.there_and_back({400: 1, 10: 4, 100: 2}) == [10, 10, 100, 400, 100, 10, 10]
    assert figures.there_and_back({2: 1, 4: 1}) == [2, 4]


def test_a_call_costs_its_share_of_the_median_job() -> None:
    jobs = [Cost(10, seconds, 2_000, 500, 100) for seconds in (0.4, 9.0, 0.3)]
    assert PerCall.of(jobs) == PerCall(10, 40.0, 200.0, 50.0, 10.0)


def test_what_grows_with_the_job_is_reported_by_the_ends() -> None:
    costs = [PerCall(10, 40.0, 200.0, 50.0, 9.0), PerCall(100, 1.0, 1.0, 1.0, 1.0)]
    costs.append(PerCall(400, 50.0, 220.0, 55.0, 9.0))
    shown = figures.length_keys(costs)
    assert shown["ms_per_call_ratio_400_to_10"] == 1.25
    assert shown["bytes_per_call_ratio_400_to_10"] == 1.1
    assert shown["event_bytes_per_call_ratio_400_to_10"] == 1.1
    assert (shown["ms_per_call_100"], shown["file_bytes_per_call_400"]) == (1.0, 9)


def test_every_goal_is_of_a_figure_that_is_reported() -> None:
    flights = [Flight(jobs, 5.0, 6.0, 7.0, 1.0, 1.0) for jobs in FLIGHTS]
    costs = [PerCall(tools, 1.0, 1.0, 1.0, 1.0) for tools in LENGTHS]
    assert GOALS.keys() <= (figures.flight_keys(flights) | figures.length_keys(costs)).keys()


def asked(name: str, replies: int, forced: str | None = None) -> Request:
    said = (Message("user", "go"), *[Message("assistant", "")] * replies)
    name = name.removeprefix("groq:")
    return Request("openai", name, said, (), forced, False, "/", {}, {}, 0.0)


def test_a_job_of_a_flight_makes_the_calls_that_it_is_said_to_make() -> None:
    name = model.flight(0.5)
    plan = model.answer(asked(name, 0, "Plan"))
    loop = [model.answer(asked(name, replies)) for replies in range(3)]
    verdict = model.answer(asked(name, 0, "Verdict"))
    calls = [plan, *loop, verdict]
    assert len(calls) == model.FLIGHT_CALLS
    assert [call.name for reply in loop for call in reply.tool_calls] == ["write_file", "verify"]
    assert {reply.delay_seconds for reply in calls} == {0.5}


def test_a_long_job_runs_something_new_each_time_and_ends() -> None:
    name = model.length(2)
    first, second, last = (model.answer(asked(name, replies)) for replies in range(3))
    assert first.tool_calls != second.tool_calls
    assert last.tool_calls == ()
    printed = []
    exec(
        first.tool_calls[0].args["code"].replace("sys.stdout.write", "printed.append"),
        {"printed": printed},
    )
    assert 0.99 * model.RESULT_BYTES < len(printed[0]) <= model.RESULT_BYTES
