"""The suite's own control: on a backend that holds nothing, it must say so."""

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
    """A probe."""


async def never_notices(context: Context) -> AttackVerdict:
    await context.run()
    return held_verdict()


async def faulty(_context: Context) -> AttackVerdict:
    raise KeyError("its own fault")


async def by_its_end(context: Context) -> AttackVerdict:
    seen = await context.run()
    return reached("it ran") if seen.result.end is End.EXITED else held_verdict("it was ended")


class Raising:
    """A backend that seems well, and whose every run fails."""

    def __init__(self) -> None:
        self.closed = False

    async def check(self) -> tuple[IsolationLayer, ...]:
        return ()

    async def run(self, command: Command, limits: Limits) -> RunResult:
        raise SandboxUnavailable("out of order")

    async def close(self) -> None:
        self.closed = True


@pytest.fixture
def place():
    with tempfile.TemporaryFile() as canary:
        canary.write(SECRET.encode())
        canary.flush()
        with host_environment(SECRET, canary.fileno(), None) as made:
            yield made


async def outcomes(
    place: HostEnvironment, backend: TriedBackend, attacks: dict[str, Attack]
) -> dict[str, AttackOutcome]:
    shown: list[AttackOutcome] = []
    found = await Runner(place, PYTHON, shown.append).run(attacks, backend)
    assert [each.name for each in found] == list(attacks)
    assert sorted(each.name for each in shown) == sorted(attacks)
    return {each.name: each for each in found}


def baseline(place: HostEnvironment) -> TriedBackend:
    return TriedBackend(
        "baseline",
        lambda: BaselineSandbox(PYTHON, environment=environment(place)),
    )


async def test_nothing_holds_where_nothing_is_held(place: HostEnvironment) -> None:
    attacks = dict(suite.attacks(NAMES))
    found = await outcomes(place, baseline(place), attacks)
    assert {name: each.verdict.kind for name, each in found.items()} == dict.fromkeys(
        attacks, VerdictKind.REACHED
    )


async def test_a_probe_that_never_notices_is_blind(place: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    blind = replace(attack, drive=never_notices)
    found = await outcomes(place, baseline(place), {"hostdata/blind": blind})
    verdict = found["hostdata/blind"].verdict
    assert verdict.kind is VerdictKind.BLIND
    assert "the control was held" in verdict.evidence


async def test_a_backend_or_an_attack_out_of_order_proves_nothing(place: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    backend = Raising()
    raising = TriedBackend("raising", lambda: backend)
    found = await outcomes(place, raising, {"a/b": attack})
    assert found["a/b"].verdict == AttackVerdict(
        VerdictKind.BROKEN, "the backend failed: out of order"
    )
    assert backend.closed

    found = await outcomes(place, baseline(place), {"a/b": replace(attack, drive=faulty)})
    assert found["a/b"].verdict == AttackVerdict(VerdictKind.BROKEN, "KeyError: 'its own fault'")


async def test_without_a_control_an_attack_runs_and_is_unproved(place: HostEnvironment) -> None:
    attack = suite.attacks(["hostdata/canary_files"])["hostdata/canary_files"]
    lacking = replace(attack, absent=lambda: "no such kernel")
    quiet = replace(lacking, probe=reaches_nothing, drive=never_notices)
    found = await outcomes(place, baseline(place), {"a/b": lacking, "a/c": quiet})
    assert found["a/b"].verdict.kind is VerdictKind.REACHED  # it was carried out
    assert found["a/c"].verdict == AttackVerdict(VerdictKind.UNPROVED, "no such kernel")
    assert not found["a/c"].is_held
    assert not found["a/c"].failed


async def test_a_control_of_ones_own_limits_sees_what_the_attack_does_not(
    place: HostEnvironment,
) -> None:
    attack = replace(
        suite.attacks(["resources/sleep_past_deadline"])["resources/sleep_past_deadline"],
        drive=by_its_end,
    )
    found = await outcomes(place, baseline(place), {"a/b": attack})
    assert found["a/b"].verdict.kind is VerdictKind.HELD
    assert found["a/b"].control == "it ran"


async def test_canaries_are_laid_and_harm_to_them_is_seen(place: HostEnvironment) -> None:
    found = place.facts("mark-1")
    assert SECRET not in str(found)
    assert len(place.files) >= 3
    assert LAN not in str(found["servers"])
    assert place.harmed() == []
    place.files[0].write_text("other")
    assert place.harmed() == [str(place.files[0])]


async def test_nothing_of_a_baseline_stays(place: HostEnvironment) -> None:
    sandbox = BaselineSandbox(PYTHON, environment=environment(place), root=False)
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
