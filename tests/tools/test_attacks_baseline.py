"""The suite's own control: on a backend without protection, the attacks must succeed."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from lab.drills.attacks import suite
from lab.drills.attacks.attack import Attack
from lab.drills.attacks.backends import TriedBackend
from lab.drills.attacks.context import Context, marked
from lab.drills.attacks.environment.baseline import BaselineSandbox
from lab.drills.attacks.environment.host import HostEnvironment, host_environment
from lab.drills.attacks.environment.netspace import LAN
from lab.drills.attacks.judges import held_verdict, reached
from lab.drills.attacks.outcome import AttackOutcome, AttackVerdict, VerdictKind
from lab.drills.attacks.runner import Runner, environment
from sandbox.protocol import Command, End, IsolationLayer, Limits, RunResult, SandboxUnavailable

PYTHON = Path("/usr/bin/python3") if Path("/usr/bin/python3").exists() else Path(sys.executable)
SECRET = "canary-0123456789abcdef"
NAMES = (
    "resources/daemon",
    "resources/fork_bomb",
    "resources/sparse_giant",
    "hostdata/canary_files",
    "network/stand_ins",
    "protocol/odd_bytes",
)


def reaches_nothing() -> None:
    """A probe without an effect."""


async def never_notices(context: Context) -> AttackVerdict:
    await context.run()
    return held_verdict()


async def faulty(_context: Context) -> AttackVerdict:
    raise KeyError("its own fault")


async def by_its_end(context: Context) -> AttackVerdict:
    observation = await context.run()
    return (
        reached("it ran") if observation.result.end is End.EXITED else held_verdict("it was ended")
    )


class Raising:
    """A backend that passes its check, and raises in each run."""

    def __init__(self) -> None:
        self.closed = False

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def run(self, command: Command, limits: Limits) -> RunResult:
        raise SandboxUnavailable("out of order")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def host():
    with tempfile.TemporaryFile() as canary:
        canary.write(SECRET.encode())
        canary.flush()
        with host_environment(SECRET, canary.fileno(), None) as environment_of_host:
            yield environment_of_host


async def outcomes(
    host: HostEnvironment, backend: TriedBackend, attacks: dict[str, Attack]
) -> dict[str, AttackOutcome]:
    reported: list[AttackOutcome] = []
    outcomes_in_order = await Runner(host, PYTHON, reported.append).run(attacks, backend)
    assert [outcome.name for outcome in outcomes_in_order] == list(attacks)
    assert sorted(outcome.name for outcome in reported) == sorted(attacks)
    return {outcome.name: outcome for outcome in outcomes_in_order}


def baseline(host: HostEnvironment) -> TriedBackend:
    return TriedBackend(
        "baseline",
        lambda: BaselineSandbox(PYTHON, environment=environment(host)),
    )


async def test_every_attack_succeeds_on_a_backend_without_protection(host: HostEnvironment) -> None:
    attacks = dict(suite.attacks(NAMES))
    outcomes_by_name = await outcomes(host, baseline(host), attacks)
    assert {
        name: outcome.verdict.kind for name, outcome in outcomes_by_name.items()
    } == dict.fromkeys(attacks, VerdictKind.REACHED)


async def test_a_probe_that_never_succeeds_is_blind(host: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    blind = replace(attack, drive=never_notices)
    outcomes_by_name = await outcomes(host, baseline(host), {"hostdata/blind": blind})
    verdict = outcomes_by_name["hostdata/blind"].verdict
    assert verdict.kind is VerdictKind.BLIND
    assert "the control was held" in verdict.evidence


async def test_a_faulty_backend_or_attack_proves_no_protection(host: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    backend = Raising()
    raising = TriedBackend("raising", lambda: backend)
    outcomes_by_name = await outcomes(host, raising, {"a/b": attack})
    assert outcomes_by_name["a/b"].verdict == AttackVerdict(
        VerdictKind.BROKEN, "the backend failed: out of order"
    )
    assert backend.closed

    outcomes_by_name = await outcomes(host, baseline(host), {"a/b": replace(attack, drive=faulty)})
    assert outcomes_by_name["a/b"].verdict == AttackVerdict(
        VerdictKind.BROKEN, "KeyError: 'its own fault'"
    )


async def test_without_a_control_an_attack_runs_and_is_unproved(host: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    lacking = replace(attack, absent=lambda: "no such kernel")
    quiet = replace(lacking, probe=reaches_nothing, drive=never_notices)
    outcomes_by_name = await outcomes(host, baseline(host), {"a/b": lacking, "a/c": quiet})
    assert outcomes_by_name["a/b"].verdict.kind is VerdictKind.REACHED  # the attack was carried out
    assert outcomes_by_name["a/c"].verdict == AttackVerdict(VerdictKind.UNPROVED, "no such kernel")
    assert not outcomes_by_name["a/c"].is_held
    assert not outcomes_by_name["a/c"].failed


async def test_a_control_with_raised_limits_succeeds_if_the_attack_does_not(
    host: HostEnvironment,
) -> None:
    attack = replace(
        suite.attacks(["resources/sleep_past_deadline"])["resources/sleep_past_deadline"],
        drive=by_its_end,
    )
    outcomes_by_name = await outcomes(host, baseline(host), {"a/b": attack})
    assert outcomes_by_name["a/b"].verdict.kind is VerdictKind.HELD
    assert outcomes_by_name["a/b"].control == "it ran"


async def test_canaries_are_planted_and_damage_to_them_is_noticed(host: HostEnvironment) -> None:
    facts = host.facts("mark-1")
    assert SECRET not in str(facts)
    assert len(host.files) >= 3
    assert LAN not in str(facts["servers"])
    assert host.harmed() == []
    host.files[0].write_text("other")
    assert host.harmed() == [str(host.files[0])]


async def test_a_baseline_leaves_no_process_and_no_file(host: HostEnvironment) -> None:
    sandbox = BaselineSandbox(PYTHON, environment=environment(host), root=False)
    code = """
import subprocess, sys
for _ in range(3):
    words = [sys.executable, '-c', 'import time; time.sleep(60)', 'mark-of-this-test']
    subprocess.Popen(words, start_new_session=True)
print('started')
"""
    result = await sandbox.run(Command.python(code), Limits())
    assert (result.end, result.stdout.text) == (End.EXITED, "started\n")
    assert len(sandbox.survivors) == 3
    assert marked("mark-of-this-test") == ()
