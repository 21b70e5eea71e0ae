"""The figures of the sandbox benchmark, and goals."""

import pytest

from benchmarks.goal import Goal
from benchmarks.sandbox import figures
from benchmarks.sandbox.figures import Figure


@pytest.mark.parametrize(
    ("goal", "ratio", "met"),
    [
        (Goal(0.5), 0.5, True),
        (Goal(0.5), 0.501, False),
        (Goal(1.3, at_least=True), 1.3, True),
        (Goal(1.3, at_least=True), 1.299, False),
    ],
)
def test_a_figure_at_its_bound_meets_it(goal: Goal, ratio: float, met: bool):
    assert goal.met(ratio) is met


def test_a_ratio_is_judged_before_it_is_rounded():
    figure = Figure("local_print_ratio", "p", "ms", 60.04, 100.0)
    assert figures.keys([figure])["local_print_ratio"] == 0.6
    assert figure.met is False


def test_the_json_has_every_ratio_and_both_its_sides():
    found = [
        figures.latency("docker_cold_ratio", "cold", [0.110, 9.0, 0.1], [0.010]),
        figures.rate("local_runs_per_s_ratio_2", "r", [200.0], [100.0]),
    ]
    assert [each.met for each in found] == [None, None]
    assert figures.keys(found) == {
        "docker_cold_ratio": 11.0,
        "local_runs_per_s_ratio_2": 2.0,
        "docker_cold_ms": 110.0,
        "docker_cold_baseline_ms": 10.0,
        "local_runs_per_s_2_per_s": 200.0,
        "local_runs_per_s_2_baseline_per_s": 100.0,
    }
