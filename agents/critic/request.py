"""The critic's request: the task, the change, and the evidence, within a budget.

Each section has a rank, and the sections with the lowest ranks are kept if the request is too long
for the model (`agents.context.ranked`):

task, conversation and people's words < the change < the verification < the tests < the input files
that the code reads < the outputs of other runs, first those that the answer quotes < data files

Why: docs/decisions/0081-the-critics-budget.md
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, SystemMessage

from agents.checks.check_reports import shown
from agents.context.ranked import MOST_BUDGET, fitted
from agents.critic.change import Change, FileText, change_of
from agents.critic.data_files import excerpt_of, input_text, shape_of
from agents.critic.inputs import files_read
from agents.critic.runs import ShownRuns
from agents.critic.sections import CHANGE, DATA, INPUTS, PEOPLE, TESTS, Section, section
from agents.critic.tools import critic_tools
from agents.evidence.changes import ChangedFile, changed_files
from agents.evidence.verdict import Critique, feedback_text
from agents.graph.state import State
from agents.paths import visible
from agents.ports import Ports, Workspace
from agents.prompts import Ranked, prompt, render
from agents.runs.installed import belongs_to_install
from agents.texts import head_and_tail

EARLIER_SHOWN = 2_000
"""Characters of the task, and of the outcome, of an earlier job of the conversation."""
MOST_INPUTS = 12
MOST_LISTED = 60
INPUT_BYTES: Final = 1024 * 1024
"""An unchanged file is shown up to this size, and otherwise listed."""


async def critic_messages(state: State, ports: Ports) -> Sequence[BaseMessage]:
    """The instructions, and the evidence. They depend on the job alone, and not on the model."""
    workspace = ports.workspace
    files = await changed_files(state, workspace)
    change = await asyncio.to_thread(change_of, files, _left_by_programs(state))
    runs = await ShownRuns.of(state, ports)
    inputs, others = await _inputs(state, workspace, change, runs)
    request = prompt(
        "critic/evidence",
        **_people(state),
        **_change(state, change, await _other_changes(state, workspace)),
        **runs.values(state),
        checked=shown(state),
        inputs=inputs,
        others=others,
    )
    instructions = render(
        "critic/system",
        repository=ports.repository is not None,
        tools=list(critic_tools(ports)),
        calls=ports.bounds.critic_calls,
    )
    return [SystemMessage(instructions), fitted(request.message(), MOST_BUDGET)]


def _people(state: State) -> dict[str, Any]:
    """The task, the conversation, and the words of people."""
    answers, job = state.get("answers", []), state["job"]
    bounded = partial(head_and_tail, limit=EARLIER_SHOWN)
    earlier = [
        {
            name: Ranked(
                bounded(each[name]), PEOPLE, f"[{len(each[name]):,} characters, not shown]"
            )
            for name in ("task", "summary")
        }
        for each in job["earlier"]
    ]
    return {
        "task": job["task"],
        "earlier": earlier,
        "clarified": state.get("clarified", []),
        "decisions": [each for each in state.get("decisions", []) if _has_words(each)],
        "critiques": [
            {"revision": each["revision"], "text": _feedback(each)}
            for each in state.get("critiques", [])
        ],
        "plan": state["plan"],
        "revision": state["revision"],
        "answer": answers[-1]["text"] if answers else "",
    }


def _feedback(critique: Mapping[str, Any]) -> str:
    """The text that the executor got. Critiques of older releases have no `unmet`."""
    return feedback_text(cast("Critique", {"unmet": [], **critique}))


def _has_words(decision: Mapping[str, Any]) -> bool:
    return any(decision.get(name) for name in ("feedback", "comments", "code"))


def _left_by_programs(state: State) -> frozenset[str]:
    """The files that are as a run has left them."""
    artifacts = state["artifacts"]
    return frozenset(
        left["name"]
        for run in state.get("runs", [])
        for left in run["artifacts"]
        if artifacts.get(left["name"], {}).get("digest") == left["digest"]
    )


def _change(state: State, change: Change, other_changes: Sequence[str]) -> dict[str, Any]:
    tester = [FileText(path, "by the tester", text) for path, text in _tests(state)]
    return {
        "change": _files(change.code, CHANGE),
        "other_changes": other_changes,
        "tests": _files([*change.tests, *tester], TESTS),
        "edited": _files(change.edited, INPUTS),
        "data": [_data(each, rank) for rank, each in enumerate(change.data[:MOST_LISTED], DATA)],
        "more_data": max(0, len(change.data) - MOST_LISTED),
    }


def _tests(state: State) -> Iterable[tuple[str, str]]:
    return sorted(state.get("tests", {}).items())


def _files(files: Sequence[FileText], rank: int) -> list[Section]:
    """In the order of their paths. The small ones are kept first, so that most are shown."""
    order = sorted(files, key=lambda file: (len(file.text), file.path))
    ranks = {id(file): number for number, file in enumerate(order, rank)}
    return [
        section(each.heading, each.text, ranks[id(each)], whole=True)
        for each in sorted(files, key=lambda file: file.path)
    ]


def _data(file: ChangedFile, rank: int) -> Section:
    content = file.after if file.after is not None else b""
    state = "new" if file.before is None else "deleted" if file.after is None else "changed"
    heading = f"{visible(file.path)}, {state}: {shape_of(file.path, content)}"
    return section(heading, excerpt_of(content), rank)


async def _other_changes(state: State, workspace: Workspace) -> list[str]:
    """The changes of links and of modes, one line each."""
    before = await workspace.manifest(state["job"].get("start"))
    after = await workspace.manifest(workspace.digest)
    lines = []
    for path in sorted(path for path in {*before, *after} if not belongs_to_install(path)):
        old, new = before.get(path), after.get(path)
        if new is not None and new.target is not None and new != old:
            lines.append(f"{visible(path)} is a link to {visible(new.target)}")
        elif old is not None and old.target is not None and new is None:
            lines.append(f"the link {visible(path)} is deleted")
        elif new is not None and new.executable not in (None, old and old.executable):
            lines.append(f"{visible(path)} can{'' if new.executable else 'not'} be executed")
    return lines


async def _inputs(
    state: State, workspace: Workspace, change: Change, runs: ShownRuns
) -> tuple[list[Section], list[str]]:
    """The unchanged files that the work reads, and the lines about the other given files."""
    sizes = workspace.list()
    changed = {*(each.path for each in change.data)}
    changed.update(each.path for each in (*change.code, *change.tests))
    paths = [path for path in sizes if path not in changed and not belongs_to_install(path)]
    answers = [each["text"] for each in state.get("answers", [])[-1:]]
    texts = [each.text for each in (*change.code, *change.tests, *change.edited)]
    clarified = [f"{each['question']}\n{each['answer']}" for each in state.get("clarified", [])]
    words = [state["job"]["task"], *answers, *clarified, *texts, *runs.programs]
    read = files_read(paths, words)
    small = [path for path in read if sizes[path] <= INPUT_BYTES][:MOST_INPUTS]
    rank = INPUTS + len(change.edited)
    sections = [
        await _input(path, workspace, rank + number)
        for number, path in enumerate(sorted(small, key=lambda path: (sizes[path], path)))
    ]
    unnamed = [path for path in state["job"]["files"] if path in paths and path not in small]
    others = [f"{visible(path)}, {sizes[path]:,} bytes" for path in unnamed[:MOST_LISTED]]
    if len(unnamed) > MOST_LISTED:
        others.append(f"and {len(unnamed) - MOST_LISTED} more")
    return sorted(sections, key=lambda section: section.heading), others


async def _input(path: str, workspace: Workspace, rank: int) -> Section:
    content = await workspace.read(path) or b""
    heading = f"{visible(path)}, unchanged: {shape_of(path, content)}"
    return section(heading, input_text(path, content), rank)
