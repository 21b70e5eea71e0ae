"""Observations of an attack lead to its verdict, and verdicts lead to the report."""

from __future__ import annotations

import builtins
import dis
import os
import subprocess
import sys
from dataclasses import replace
from types import CodeType
from typing import Any

import pytest

from lab.drills.attacks import judges, suite, summary
from lab.drills.attacks.outcome import (
    AttackOutcome,
    AttackVerdict,
    Observation,
    ProbeReport,
    VerdictKind,
)
from lab.drills.attacks.probes.program import program, report
from sandbox.protocol import End, RunResult, Stream

EXITED = RunResult(End.EXITED, 0, None, Stream(), Stream(), 0.1)
SEEN = Observation(EXITED, ProbeReport(), 0.1)
MARK = "mark-0011"
WORDS = ("word",)


def outcome(
    name: str, kind: VerdictKind, backend: str = "local", evidence: str = ""
) -> AttackOutcome:
    return AttackOutcome(name, backend, AttackVerdict(kind, evidence), 1.5)


@pytest.mark.parametrize(
    ("observation", "kind"),
    [
        (SEEN, VerdictKind.HELD),
        (replace(SEEN, report=ProbeReport(reached="55 bytes")), VerdictKind.REACHED),
        (replace(SEEN, survivors=("pid 7 (sleep)",)), VerdictKind.REACHED),
        (replace(SEEN, contacts=(f"tcp: {MARK}",)), VerdictKind.REACHED),
        (replace(SEEN, report=ProbeReport(broken="KeyError: 'x'")), VerdictKind.BROKEN),
        (replace(SEEN, report=None), VerdictKind.BROKEN),
        (replace(SEEN, report=None, ends=frozenset({End.MEMORY})), VerdictKind.BROKEN),
        (replace(SEEN, report=None, ends=frozenset({End.EXITED})), VerdictKind.HELD),
    ],
)
def test_a_probe_without_a_report_proves_nothing(
    observation: Observation, kind: VerdictKind
) -> None:
    assert judges.reported(observation).kind is kind


KILLED = replace(EXITED, end=End.KILLED, exit_code=None)


@pytest.mark.parametrize(
    ("observation", "fine", "kind"),
    [
        (SEEN, True, VerdictKind.HELD),
        (replace(SEEN, result=KILLED), True, VerdictKind.REACHED),
        (replace(SEEN, result=replace(EXITED, exit_code=1)), True, VerdictKind.REACHED),
        (replace(SEEN, seconds=1.1), True, VerdictKind.REACHED),
        (replace(SEEN, survivors=("pid 7 (sleep)",)), True, VerdictKind.REACHED),
        (SEEN, False, VerdictKind.REACHED),
    ],
)
def test_a_sandbox_survives_with_the_expected_end_in_time_and_a_normal_next_run(
    observation: Observation, fine: bool, kind: VerdictKind
) -> None:
    assert judges.survived(observation, fine, [End.EXITED], 0, within=1.0).kind is kind


def test_an_attack_on_the_sandbox_may_end_in_several_ways() -> None:
    for result in (EXITED, KILLED):
        observation = replace(SEEN, result=result)
        assert judges.survived(observation, True, [End.EXITED, End.KILLED]).kind is VerdictKind.HELD


def test_a_fault_found_by_the_host_is_a_success_of_the_attack_despite_the_probes_report() -> None:
    assert judges.judged(SEEN, ["a fault"]).kind is VerdictKind.REACHED
    assert judges.judged(SEEN, []).kind is VerdictKind.HELD


def reaching(inputs: dict[str, Any]) -> str | None:
    return double(inputs["word"])


def double(word: str) -> str:
    return word * 2


def failing(inputs: dict[str, Any]) -> str | None:
    raise OSError(inputs["word"])


def without_words() -> str | None:
    return double(WORDS[0]) + os.sep


def of_another_kind() -> str | None:
    return str(SEEN)


def report_of(probe: Any) -> ProbeReport | None:
    code = program(probe, {"mark": MARK, "word": 'it\'s "so" '})
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    return report(replace(EXITED, stdout=Stream(ran.stdout), stderr=Stream(ran.stderr)), MARK)


def test_a_probe_runs_from_its_source_with_what_it_uses_and_reports() -> None:
    assert report_of(without_words) == ProbeReport(reached="wordword/")
    assert report_of(reaching) == ProbeReport(reached='it\'s "so" it\'s "so" ')
    broken = report_of(failing)
    assert broken is not None
    assert broken.reached is None
    assert "OSError: it's" in str(broken.broken)


def test_an_object_that_cannot_be_sent_with_a_probe_is_named() -> None:
    with pytest.raises(TypeError, match="SEEN, Observation"):
        report_of(of_another_kind)


def test_a_report_has_the_mark_and_the_last_report_counts() -> None:
    def of(text: str) -> ProbeReport | None:
        return report(replace(EXITED, stdout=Stream(text)), MARK)

    assert of("") is None
    assert of('mark-9999 {"reached": "another\'s"}\n') is None
    assert of(f'{MARK} {{"reached": null}}\n{MARK} {{"reached": "it"}}\n') == ProbeReport("it")
    forged = of(f"{MARK} [1]\n")
    assert forged is not None
    assert forged.broken is not None


def test_the_summary_counts_each_attack_once_per_backend() -> None:
    outcomes = [
        outcome("kernel/a", VerdictKind.HELD),
        outcome("kernel/b", VerdictKind.BLIND),
        outcome("kernel/a", VerdictKind.HELD, "docker"),
        outcome("kernel/b", VerdictKind.REACHED, "docker", "55\nbytes\x1b[2J"),
        outcome("kernel/c", VerdictKind.UNPROVED),
    ]
    assert summary.summary(outcomes) == {
        "attacks": 3,
        "backends": ["local", "docker"],
        "tried": 4,
        "held": 2,
        "failed": ["kernel/b@local", "kernel/b@docker"],
        "unproved": ["kernel/c@local"],
    }
    assert summary.last_line(outcomes) == (
        "2 of 4 held, on local, docker; 1 not proved on this machine: kernel/c@local"
    )
    assert list(summary.rows(outcomes)) == [
        ("local", "kernel", "1", "1", "0", "1", "0", "4.5"),
        ("docker", "kernel", "1", "0", "1", "0", "0", "3.0"),
    ]
    blind, reached = summary.failures(outcomes)
    assert "nothing is proved" in blind
    assert reached.startswith("kernel/b on docker: reached: 55 bytes\\x1b[2J\n")
    assert "b in lab/drills/attacks/catalogue/kernel" in reached


def test_attacks_are_found_by_their_module_and_have_a_description() -> None:
    names = list(suite.attacks())
    assert len(names) >= 80
    assert {name.partition("/")[0] for name in names} == set(suite.CATEGORIES)
    assert list(suite.attacks(["resources/fork_*", "network/stand_ins"])) == [
        "resources/fork_bomb",
        "network/stand_ins",
    ]
    for name, attack in suite.attacks().items():
        assert len(attack.tries) > 12, name


def test_every_probe_is_self_contained() -> None:
    for name, attack in suite.attacks().items():
        code = program(attack.probe, {"mark": MARK})
        module_code = compile(code, name, "exec")
        available_names = {*dir(builtins), *names_in(module_code, "STORE_NAME")}
        assert names_in(module_code, "LOAD_NAME", "LOAD_GLOBAL") <= available_names, name


def names_in(code: CodeType, *operations: str) -> set[str]:
    """The names that these operations use in a program and in its functions."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in operations
    }
    inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
    return names.union(*(names_in(inner_code, *operations) for inner_code in inner))
