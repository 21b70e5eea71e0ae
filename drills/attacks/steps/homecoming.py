"""Coming home: what may arrive at the host of what a run leaves in its work area."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from drills.attacks.judges import reached, reported
from drills.attacks.outcome import Observation, Verdict
from sandbox import paths
from sandbox.protocol import Command, Limits, RunResult

if TYPE_CHECKING:
    from drills.attacks.context import Context

COLLECTING_SECONDS = 15.0
"""More than this between the code's end and the answer, and the collector has been held up."""
_UNSAFE = {"Cc", "Cs", "Zl", "Zp"}
_BIDIRECTIONAL = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
HONEST = b"honest work\n"
"""What a probe puts beside its traps where the attack names a file in `given["comes"]`."""


async def homecoming(context: Context) -> Observation:
    """Run the probe, which in a control collects carelessly itself; then see what came home."""
    return checked(context, await context.run(given={"careless": context.is_control}))


def checked(context: Context, seen: Observation) -> Observation:
    """What came home, with its faults in the notes."""
    faults = [] if context.is_control else list(_faults(context, seen))
    return replace(seen, notes={**seen.notes, "faults": faults})


async def and_on(context: Context) -> Observation:
    """As `homecoming`; the backend's next run must go well too."""
    seen = await homecoming(context)
    after = await context.sandbox.run(Command(("python", "-c", "print(1)")), Limits())
    if after.succeeded:
        return seen
    faults = [*seen.notes["faults"], f"the next run on the same backend: {after.end}"]
    return replace(seen, notes={"faults": faults})


def came_home(seen: Observation) -> Verdict:
    """Judges what these drives saw."""
    faults = seen.notes["faults"]
    return reached(faults[0]) if faults else reported(seen)


def _faults(context: Context, seen: Observation) -> Iterator[str]:
    result, limits, given = seen.result, context.limits, context.attack.given
    yield from (f"{name!a} came home: {why}" for name in result.changed if (why := odd(name)))
    yield from _too_much(result, limits)
    for name, data in result.changed.items():
        if context.host.secret.encode() in data:
            yield f"{name!a} came home with the secret"
        if name in given.get("never", ()):
            yield f"{name} came home"
    for name in given.get("comes", ()):
        if result.changed.get(name) != HONEST:
            yield f"the honest file {name} did not come home: {_about(result.changed, name)}"
    for words in result.refused:
        if not words.isprintable() or len(words) > 1024:
            yield f"a refusal that is not printable: {words[:60]!a}"
    if seen.seconds - result.seconds > COLLECTING_SECONDS:
        yield f"the answer came {seen.seconds - result.seconds:.1f} s after the end"
    yield from (f"the canary file {each} was changed" for each in context.host.harmed())


def _too_much(result: RunResult, limits: Limits) -> Iterator[str]:
    sizes = [len(data) for data in result.changed.values()]
    if len(sizes) > limits.workspace_files:
        yield f"{len(sizes)} files came home"
    if sum(sizes) > limits.workspace_bytes or max(sizes, default=0) > limits.file_bytes:
        yield f"{sum(sizes)} bytes came home, {max(sizes)} in one file"
    if len(result.refused) > paths.REFUSALS + 1:
        yield f"{len(result.refused)} refusals were told"


def odd(name: str) -> str | None:
    """Why a name may do harm where it is stored or shown, whatever the backend thinks of it."""
    if any(unicodedata.category(sign) in _UNSAFE or sign in _BIDIRECTIONAL for sign in name):
        return "a sign that a terminal or a reader obeys"
    if name.startswith("/") or any(part in {"", ".", ".."} for part in name.split("/")):
        return "a path that leads elsewhere"
    if len(name.encode()) > 1024 or name.count("/") > 64:
        return "too long or too deep"
    return None


def _about(changed: Mapping[str, bytes], name: str) -> str:
    return f"{len(changed[name])} other bytes" if name in changed else "nothing of that name"
