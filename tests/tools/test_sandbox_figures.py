"""The arithmetic of the sandbox's benchmark."""

from __future__ import annotations

import pytest

from benchmarks.goal import Goal
from benchmarks.sandbox import figures
from benchmarks.sandbox.figures import GOALS, Figure


def test_a_latency_is_a_median_in_milliseconds_and_a_ratio_sandboxed_over_baseline():
    figure = figures.latency("local_print_ratio", "p", [0.004, 0.005, 9.0], [0.010, 0.009, 0.020])
    assert (figure.sandboxed, figure.baseline, figure.unit) == (5.0, 10.0, "ms")
    assert figure.ratio == 0.5
    assert figure.met is True


def test_runs_a_second_are_shown_and_not_judged():
    assert figures.rate("local_runs_per_s_ratio_2", "r", [100.0], [100.0]).met is None


@pytest.mark.parametrize(
    ("goal", "ratio", "met"),
    [
        (Goal(0.5), 0.5, True),
        (Goal(0.5), 0.501, False),
        (Goal(1.3, at_least=True), 1.3, True),
        (Goal(1.3, at_least=True), 1.299, False),
    ],
)
def test_a_bound_itself_is_met(goal: Goal, ratio: float, met: bool):
    assert goal.met(ratio) is met


def test_a_ratio_is_judged_before_it_is_rounded():
    figure = Figure("local_print_ratio", "p", "ms", 60.04, 100.0)
    assert figures.keys([figure])["local_print_ratio"] == 0.6
    assert figure.met is False


def test_a_figure_without_a_goal_is_not_judged():
    figure = figures.rate("local_runs_per_s_ratio_1", "r", [2.0], [1.0])
    assert figure.met is None
    assert figure.row() == ("r", "2.0 /s", "1.0 /s", "2.00", "", "")


def test_the_json_has_every_ratio_and_both_its_sides():
    found = [
        figures.latency("docker_cold_ratio", "cold", [0.110], [0.010]),
        figures.rate("local_runs_per_s_ratio_2", "r", [200.0], [100.0]),
    ]
    assert figures.keys(found) == {
        "docker_cold_ratio": 11.0,
        "local_runs_per_s_ratio_2": 2.0,
        "docker_cold_ms": 110.0,
        "docker_cold_baseline_ms": 10.0,
        "local_runs_per_s_2_per_s": 200.0,
        "local_runs_per_s_2_baseline_per_s": 100.0,
    }


def test_the_goals_are_those_that_were_set():
    assert {key: (goal.bound, goal.at_least) for key, goal in GOALS.items()} == {
        "local_print_ratio": (0.6, False),
        "local_plot_ratio": (0.3, False),
        "docker_print_ratio": (1.2, False),
        "docker_plot_ratio": (0.4, False),
    }
