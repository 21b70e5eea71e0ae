"""The runner: every attack on every backend, each with its control."""

from __future__ import annotations

import asyncio
import itertools
import os
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from lab.drills.attacks.attack import Attack, BaselineControl, OtherProbe, RaisedLimits
from lab.drills.attacks.backends import TriedBackend
from lab.drills.attacks.context import Context
from lab.drills.attacks.environment.baseline import UIDS, BaselineSandbox, interpreter
from lab.drills.attacks.environment.host import VARIABLE, HostEnvironment
from lab.drills.attacks.judges import held_verdict, reported
from lab.drills.attacks.outcome import AttackOutcome, AttackVerdict, VerdictKind
from sandbox.protocol import Sandbox, SandboxError

AT_ONCE = 2
MOST_SECONDS = 120.0
"""The seconds for one attack or control; if it takes longer, it is broken."""

Report = Callable[[AttackOutcome], None]


class Runner:
    """Runs attacks one backend at a time: two at once, except for an attack that must run alone."""

    def __init__(self, host: HostEnvironment, python: Path, report: Report) -> None:
        self._host, self._report = host, report
        self._python = interpreter(python)
        self._controls: dict[str, AttackVerdict] = {}
        # Start at a random uid: a user's limit of processes also counts those of another drill.
        self._uids = itertools.islice(itertools.cycle(UIDS), secrets.randbelow(len(UIDS)), None)
        self._seats = asyncio.Semaphore(AT_ONCE)

    async def run(
        self, attacks: Mapping[str, Attack], backend: TriedBackend
    ) -> list[AttackOutcome]:
        """All outcomes, in the attacks' order. Raises SandboxUnavailable if no run is possible."""
        sandbox = backend.make()
        try:
            await sandbox.check()
            quiet = {name: attack for name, attack in attacks.items() if not attack.alone}
            seated = (self._seated(name, quiet[name], backend, sandbox) for name in quiet)
            outcomes_by_name = {outcome.name: outcome for outcome in await asyncio.gather(*seated)}
            for name in [name for name in attacks if name not in quiet]:
                outcomes_by_name[name] = await self._seated(name, attacks[name], backend, sandbox)
        finally:
            await sandbox.close()
        return [outcomes_by_name[name] for name in attacks]

    async def _seated(
        self, name: str, attack: Attack, backend: TriedBackend, sandbox: Sandbox
    ) -> AttackOutcome:
        async with self._seats:
            started = time.monotonic()
            verdict, control = await self._both(name, attack, backend, sandbox)
            seconds = round(time.monotonic() - started, 2)
        outcome = AttackOutcome(name, backend.name, verdict, seconds, control.evidence)
        self._report(outcome)
        return outcome

    async def _both(
        self, name: str, attack: Attack, backend: TriedBackend, sandbox: Sandbox
    ) -> tuple[AttackVerdict, AttackVerdict]:
        """The verdict of the attack, after the verdict of its control, and the control's
        verdict.
        """
        context = Context(attack, sandbox, self._host, backend, attack.limits)
        verdict = await _judged(context)
        if verdict.kind is not VerdictKind.HELD:
            return verdict, held_verdict()
        reason = self._without_control(attack)
        if reason is not None:
            return AttackVerdict(VerdictKind.UNPROVED, reason), held_verdict()
        control = await self._control(name, context)
        if control.kind is not VerdictKind.REACHED:
            evidence = control.evidence or "it reached nothing"
            verdict = AttackVerdict(
                VerdictKind.BLIND, f"the control was {control.kind}: {evidence}"
            )
        return verdict, control

    def _without_control(self, attack: Attack) -> str | None:
        """The reason why this machine or this user cannot run the control; None if it can run."""
        control = attack.control
        if isinstance(control, BaselineControl) and control.host_root and os.geteuid() != 0:
            return "its control takes root"
        return attack.absent()

    async def _control(self, name: str, context: Context) -> AttackVerdict:
        """The control's verdict. All backends share one baseline, which runs once."""
        control = context.attack.control
        again = replace(context, is_control=True)
        if isinstance(control, RaisedLimits):
            return await _judged(replace(again, limits=control.limits))
        if isinstance(control, OtherProbe):
            attack = replace(context.attack, probe=control.probe)
            limits = control.limits or context.limits
            return await _judged(replace(again, attack=attack, limits=limits))
        if name not in self._controls:
            # The control shares the position of the descriptor with the attack.
            os.lseek(self._host.descriptor, 0, os.SEEK_SET)
            baseline = BaselineSandbox(
                self._python,
                environment=environment(self._host),
                root=control.root or control.host_root,
                as_drill=control.as_drill,
                unshare=control.unshare,
                descriptors=(self._host.descriptor,),
                uid=next(self._uids),
            )
            # Not this mark: if the attack reached a canary server, the server already has this
            # mark.
            backend = TriedBackend("baseline", lambda: baseline)
            again = Context(
                context.attack, baseline, self._host, backend, context.limits, is_control=True
            )
            self._controls[name] = await _judged(again)
        return self._controls[name]


def environment(host: HostEnvironment) -> dict[str, str]:
    """The variables of a baseline. They contain the canary, as the drill's own variables do."""
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", VARIABLE: host.secret}


async def _judged(context: Context) -> AttackVerdict:
    """Drive the attack and judge it.

    A failure of the drill, of the backend or of the attack's own code yields BROKEN, and the other
    attacks still run.
    """
    try:
        async with asyncio.timeout(MOST_SECONDS):
            observation = await context.attack.drive(context)
            return observation if isinstance(observation, AttackVerdict) else reported(observation)
    except TimeoutError:
        return AttackVerdict(VerdictKind.BROKEN, f"not done within {MOST_SECONDS:g} s")
    except SandboxError as error:
        return AttackVerdict(VerdictKind.BROKEN, f"the backend failed: {error}")
    except Exception as error:  # noqa: BLE001
        return AttackVerdict(VerdictKind.BROKEN, f"{type(error).__name__}: {error}")
