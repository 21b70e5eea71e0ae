"""Behind each run of the executor: whether it was a repair, and what the model is told of it.

The decisions are those of `agents.repair`; what they need of a pass is read here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage

from agents.calls import answered_by
from agents.history import this_pass
from agents.ports import Ports
from agents.prompting import render
from agents.repair.change import Change, change
from agents.repair.course import Course, course
from agents.repair.cure import Between
from agents.repair.opened import open_failures
from agents.repair.repair import failed_in_a_row, mending, repair_of
from agents.repair.subject import subject
from agents.runs import EXECUTOR, kept_text
from agents.state import Repair, Run
from agents.tools.trace import repairs_in, runs_in, traces

FILES_COMPARED = 20
BYTES_COMPARED = 256 * 1024
MOST_OPEN = 5


@dataclass(frozen=True, slots=True)
class Told:
    """What comes behind a run: words for the model, and the repair that it was, if it was one."""

    words: str = ""
    repair: Repair | None = None
    diff: dict[str, Any] | None = None

    @property
    def event(self) -> dict[str, Any] | None:
        """The data of the event `repaired`."""
        return None if self.repair is None else {**self.repair, "diff": self.diff}


def course_of(state: Mapping[str, Any], ports: Ports, *more: Repair) -> Course:
    """The course of a pass (its inner state) as far as it has come, and behind `more` repairs."""
    before = [*state.get("repairs", ()), *repairs_in(traces(this_pass(state["messages"])))]
    levels = ports.models.levels(EXECUTOR)
    return course([*before, *more], state.get("level", 0), levels, state["revision"])


async def behind(run: Run, state: Mapping[str, Any], ports: Ports) -> Told:
    """What to tell of a `run` that the latest reply of a pass has made."""
    messages: Sequence[AnyMessage] = state["messages"]
    earlier = [*state.get("repairs", ()), *repairs_in(traces(this_pass(messages)))]
    mends = mending(run, await _between(opened_in(state), run, ports))
    if mends is None and run["succeeded"]:
        return Told()
    repair, diff = None, None
    now = course_of(state, ports)
    if mends is not None:
        model = answered_by(messages[-1]) or ports.models.name(EXECUTOR, now.level)
        repair = repair_of(run, mends, earlier, model, now.level)
        found = await _change(mends.of, run, ports)
        repair["lines"] = {"added": found.added, "removed": found.removed}
        diff = await kept_text(ports.workspace, found.diff, ports.bounds.kept)
    if run["succeeded"]:
        return Told("", repair, diff)
    after = course_of(state, ports, *([repair] if repair else []))
    tried = failed_in_a_row([*earlier, *([repair] if repair else [])])
    return Told(_words(run, repair, tried if after.level > now.level else (), ports), repair, diff)


def opened_in(state: Mapping[str, Any]) -> list[Run]:
    """The open failures that whoever gave the latest reply of a pass has seen: what its own calls
    run was written without knowing how they end."""
    known = traces(this_pass(state["messages"])[:-1])
    repairs = [*state.get("repairs", ()), *repairs_in(known)]
    return open_failures(runs_in(known), repairs, state.get("opened", ()))


async def _between(opened: Sequence[Run], run: Run, ports: Ports) -> list[tuple[Run, Between]]:
    """What lies between each of the open failures and a `run`."""
    if not opened:
        return []
    known = "workspace" in run
    after = await ports.workspace.manifest(run["workspace"]) if known else {}
    text = await _text(run, after, ports)
    found = []
    for failed in opened[-MOST_OPEN:]:
        told = known and "workspace" in failed
        before = await ports.workspace.manifest(failed["workspace"]) if told else after
        found.append((failed, Between(before, after, text, told)))
    return found


async def _text(run: Run, files: Mapping[str, str], ports: Ports) -> str:
    """A run's program, with the scripts that it has started."""
    scripts = sorted(subject(run, files).scripts & files.keys())[:FILES_COMPARED]
    kept = [await ports.workspace.kept(files[path]) for path in scripts]
    parts = [await whole_program(run, ports), *kept]
    return "\n".join(part[:BYTES_COMPARED].decode(errors="replace") for part in parts)


def _words(run: Run, repair: Repair | None, tried: Sequence[Repair], ports: Ports) -> str:
    same, of = (repair["same"], repair["of"]) if repair else (None, None)
    given = {"failure": run["failure"], "install": ports.packages is not None}
    hint = render("executor_hint", **given, same=same, of=of)
    parts = [hint, render("executor_taken_over", tried=tried) if tried else ""]
    return "\n\n".join(part.strip() for part in parts if part)


async def _change(failed: Run, run: Run, ports: Ports) -> Change:
    """What was changed between two runs: the program, and the files that were written between."""
    before: dict[str, bytes | None] = {"program": await whole_program(failed, ports)}
    after: dict[str, bytes | None] = {"program": await whole_program(run, ports)}
    if "workspace" in failed and "on" in run:  # runs of before this release have neither
        was = await ports.workspace.manifest(failed["workspace"])
        now = await ports.workspace.manifest(run["on"])
        names = [name for name in sorted({*was, *now}) if was.get(name) != now.get(name)]
        left = BYTES_COMPARED
        for name in names[:FILES_COMPARED]:
            pair = [await _bytes(files.get(name), ports) for files in (was, now)]
            left -= sum(len(content or b"") for content in pair)
            if left < 0:
                break
            before[name], after[name] = pair
    return change(before, after)


async def whole_program(run: Run, ports: Ports) -> bytes:
    """All of what a run has run."""
    code = run["code"]
    return await ports.workspace.kept(code["digest"]) if code["digest"] else code["text"].encode()


async def _bytes(digest: str | None, ports: Ports) -> bytes | None:
    return None if digest is None else await ports.workspace.kept(digest)
