"""The schedule of a chaos run: the same seed gives the same schedule, with the promised number of
faults.
"""

from __future__ import annotations

from collections import Counter

from lab.drills.chaos.checks.recovery import KILLS
from lab.drills.chaos.schedule import Kind, schedule


def test_the_same_seed_gives_the_same_schedule() -> None:
    assert schedule(7, 1) == schedule(7, 1)
    assert schedule(7, 1).jobs != schedule(8, 1).jobs
    assert schedule(7, 1).faults != schedule(8, 1).faults


def test_ten_minutes_have_the_promised_kills_and_jobs() -> None:
    for seed in range(5):
        plan = schedule(seed, 10)
        kinds = Counter(fault.kind for fault in plan.faults)
        assert sum(kinds[Kind(kind)] for kind in KILLS) >= 200
        assert kinds[Kind.WORKER_KILL] >= 10
        assert len(plan.jobs) >= 2_000


def test_every_kind_of_fault_occurs_even_in_a_short_run() -> None:
    plan = schedule(1, 0.25)
    assert {fault.kind for fault in plan.faults} == set(Kind)
    assert all(0 <= fault.at < 15 for fault in plan.faults)
    assert all(0 <= fault.pick < 1 for fault in plan.faults)
    assert list(plan.faults) == sorted(plan.faults, key=lambda fault: (fault.at, fault.kind))


def test_one_job_in_six_works_on_a_repository_and_has_no_conversation() -> None:
    jobs = schedule(1, 10).jobs
    on_repositories = [job for job in jobs if job.repo]
    assert 0.12 < len(on_repositories) / len(jobs) < 0.24
    assert not any(job.follows for job in on_repositories)
