"""The critic's request: the task, the change, and the evidence, within a budget.

Each section has a rank. If the request exceeds a budget, the sections with the lowest ranks are
kept, and the others are cut or replaced by their names (`agents.context.ranked`). First,
`critic_messages` applies MOST_BUDGET, which is equal for all models; the journal has this request.
Then `agents.context.overflow` fits it to its share of the called model's context. The ranks:

task, conversation and people's words < the change < the verification < the tests < the input files
that the code reads < pages and answers of servers < the outputs of other runs, first those that the
answer quotes < data files

See ADR 81.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from textwrap import indent
from typing import Any, Final, cast

from langchain_core.messages import BaseMessage, SystemMessage

from agents.attempt import Ports
from agents.checks.reports import report_excerpt
from agents.context.ranked import MOST_BUDGET, fit_message
from agents.critic.files import (
    ChangeForCritic,
    FileText,
    change_of,
    excerpt_of,
    files_read,
    input_text,
    paths_read,
    shape_of,
)
from agents.critic.outside import outside_sections
from agents.critic.runs import RunsForCritic
from agents.critic.sections import (
    CHANGE,
    DATA,
    INPUTS,
    PEOPLE,
    TESTS,
    VERIFICATION,
    Section,
    fenced_part,
    make_section,
    ranked_text,
)
from agents.critic.tools import critic_tools
from agents.evidence.changes import ChangedFile, changed_files
from agents.evidence.verdict import Critique, feedback_text
from agents.paths import is_in_setup, visible
from agents.ports import Workspace
from agents.prompts import Ranked, prompt, render
from agents.state import EarlierJob, State
from agents.texts import head_and_tail

EARLIER_SHOWN = 2_000
"""Characters of the task, and of the outcome, of an earlier job of the conversation."""
MOST_INPUTS = 12
MOST_LISTED = 60
"""Files of each kind that are shown or listed by name."""
NAMING_CHARACTERS = 200_000
"""Characters of a file that are searched for names of other files."""
INPUT_BYTES: Final = 1024 * 1024
"""An unchanged file is shown up to this size, and otherwise listed."""


async def critic_messages(state: State, ports: Ports) -> Sequence[BaseMessage]:
    """The instructions, and the evidence within MOST_BUDGET. They depend on the job, not on the
    model."""
    workspace = ports.workspace
    files = await changed_files(state, workspace)
    # Threads compute on the job's texts, so that the other jobs of the process go on.
    change = await asyncio.to_thread(change_of, files, _left_by_programs(state))
    runs = await RunsForCritic.of(state, ports)
    request = prompt(
        "critic/evidence",
        **_people(state),
        **await asyncio.to_thread(_change, state, change),
        **runs.values(state),
        **await _inputs(state, workspace, change, runs, ports.repository is not None),
        outside=outside_sections(state, ports, runs.words, INPUTS + MOST_INPUTS),
        other_changes=await _other_changes(state, workspace),
        checked=_checks(state),
    )
    instructions = render(
        "critic/system",
        only_answer=state.get("only_answer", False),
        needs_evidence=state["job"].get("evidence") != "none",
        repository=ports.repository is not None,
        tools=list(critic_tools(ports)),
        calls=ports.bounds.critic_calls,
    )
    return [SystemMessage(instructions), fit_message(request.message(), MOST_BUDGET)]


def _people(state: State) -> dict[str, Any]:
    """The task, the conversation, and the words of people."""
    answers, job = state.get("answers", []), state["job"]
    earlier = [
        _earlier_job(fields, PEOPLE + age) for age, fields in enumerate(reversed(job["earlier"]))
    ][::-1]
    decisions = [
        {
            **decision,
            "feedback": _indented(decision.get("feedback") or "", PEOPLE),
            "code": _indented(decision.get("code") or "", PEOPLE),
        }
        for decision in state.get("decisions", [])
        if decision.get("feedback") or decision.get("comments") or decision.get("code")
    ]
    return {
        "task": job["task"],
        "earlier": earlier,
        "clarified": state.get("clarified", []),
        "decisions": decisions,
        "critiques": [
            {"revision": critique["revision"], "text": _feedback(critique)}
            for critique in state.get("critiques", [])
        ],
        "plan": state["plan"],
        "revision": state["revision"],
        "answer": answers[-1]["text"] if answers else "",
    }


def _indented(text: str, rank: int) -> Ranked:
    """The text of an item of a list, of which no line looks like a part of the request."""
    return ranked_text(indent(text, "  ").lstrip(), rank)


def _earlier_job(job: EarlierJob, rank: int) -> dict[str, Any]:
    return {
        "task": _indented(head_and_tail(job["task"], EARLIER_SHOWN), rank),
        "summary": _indented(head_and_tail(job["summary"], EARLIER_SHOWN), rank),
        "words": [_indented(words, rank) for words in job.get("words", ())],
    }


def _feedback(critique: Mapping[str, Any]) -> str:
    """The text that the executor got. Critiques of older releases have no `unmet`."""
    return feedback_text(cast("Critique", {"unmet": [], **critique}))


def _checks(state: State) -> dict[str, Any] | None:
    """The report of the acceptance checks."""
    report = report_excerpt(state)
    if report is None:
        return None
    tests = [
        {**test, "detail": fenced_part(test["detail"].rstrip(), VERIFICATION + number)}
        for number, test in enumerate(report["tests"], 1)
    ]
    return {**report, "tests": tests}


def _left_by_programs(state: State) -> frozenset[str]:
    """The files that are as a run has left them."""
    artifacts = state["artifacts"]
    return frozenset(
        artifact["name"]
        for run in state.get("runs", [])
        for artifact in run["artifacts"]
        if artifacts.get(artifact["name"], {}).get("digest") == artifact["digest"]
    )


def _change(state: State, change: ChangeForCritic) -> dict[str, Any]:
    written = state.get("tests", {})  # on a repository they are also in the change
    tests = [file for file in change.tests if written.get(file.path) != file.content]
    tests += (FileText.complete(path, "by the tester", text) for path, text in written.items())
    numbered_data = enumerate(change.data[:MOST_LISTED], DATA)
    return {
        "change": _files(change.code, CHANGE),
        "more_change": _more(change.code),
        "tests": _files(tests, TESTS),
        "more_tests": _more(tests),
        "data": [_data(file, rank) for rank, file in numbered_data],
        "more_data": _more(change.data),
    }


def _files(files: Sequence[FileText], rank: int) -> list[Section]:
    """The smallest files, in the order of their paths. The small ones are kept first, so that most
    are shown."""
    order = sorted(files, key=lambda file: (len(file.text), file.path))[:MOST_LISTED]
    ranks = {file.path: number for number, file in enumerate(order, rank)}
    return [
        make_section(file.heading, file.text, ranks[file.path], is_indivisible=True)
        for file in sorted(order, key=lambda file: file.path)
    ]


def _more(files: Sequence[object]) -> int:
    """How many files are not listed."""
    return max(0, len(files) - MOST_LISTED)


def _data(file: ChangedFile, rank: int) -> Section:
    content = file.after if file.after is not None else b""
    state = "new" if file.before is None else "deleted" if file.after is None else "changed"
    heading = f"{visible(file.path)}, {state}: {shape_of(file.path, content)}"
    return make_section(heading, excerpt_of(content), rank)


async def _other_changes(state: State, workspace: Workspace) -> list[str]:
    """The changes of links and of modes, one line each."""
    before = await workspace.manifest(state["job"].get("start"))
    after = await workspace.manifest(workspace.digest)
    lines = []
    for path in sorted(path for path in {*before, *after} if not is_in_setup(path)):
        old, new = before.get(path), after.get(path)
        if new is not None and new.target is not None and new != old:
            lines.append(f"{visible(path)} is a link to {visible(new.target)}")
        elif old is not None and old.target is not None and new is None:
            lines.append(f"the link {visible(path)} is deleted")
        elif new is not None and new.executable not in (None, old and old.executable):
            lines.append(f"{visible(path)} can{'' if new.executable else 'not'} be executed")
    return lines


async def _inputs(
    state: State,
    workspace: Workspace,
    change: ChangeForCritic,
    runs: RunsForCritic,
    in_repository: bool,
) -> dict[str, Any]:
    """{inputs, others}: the unchanged files that the work reads, and the names and sizes of the
    other files that the job started with."""
    sizes = workspace.list()
    changed = {file.path for file in change.data}
    changed.update(file.path for file in (*change.code, *change.tests))
    paths = {path for path in sizes if path not in changed and not is_in_setup(path)}
    read_paths = await asyncio.to_thread(
        files_read, paths, _naming_texts(state, change, runs, in_repository)
    )
    small = [path for path in read_paths if sizes[path] <= INPUT_BYTES][:MOST_INPUTS]
    contents = await asyncio.gather(*map(workspace.read, small))
    loaded = {path: content or b"" for path, content in zip(small, contents, strict=True)}
    sections = await asyncio.to_thread(_input_sections, loaded, INPUTS)
    unnamed = [path for path in state["job"]["files"] if path in paths and path not in loaded]
    other_files = [f"{visible(path)}, {sizes[path]:,} bytes" for path in unnamed[:MOST_LISTED]]
    if more := _more(unnamed):
        other_files.append(f"and {more} more")
    return {"inputs": sections, "others": other_files}


def _naming_texts(
    state: State, change: ChangeForCritic, runs: RunsForCritic, in_repository: bool
) -> list[str]:
    """The texts that may name a file: words of people and of the model, code and commands. In a
    repository the whole code and the commands name too many files: there the patches count."""
    answers = [answer["text"] for answer in state.get("answers", [])[-1:]]
    clarified = [f"{item['question']}\n{item['answer']}" for item in state.get("clarified", [])]
    files = (*change.code, *change.tests)
    texts = (file.text if in_repository else file.content for file in files[:MOST_LISTED])
    code = [text[:NAMING_CHARACTERS] for text in texts]
    programs = [] if in_repository else runs.programs
    read_paths = paths_read(state["messages"]) if state.get("only_answer") else []
    return [state["job"]["task"], *answers, *clarified, *code, *programs, *read_paths]


def _input_sections(contents: Mapping[str, bytes], rank: int) -> list[Section]:
    order = sorted(contents, key=lambda path: (len(contents[path]), path))
    ranks = {path: number for number, path in enumerate(order, rank)}
    return [
        make_section(
            f"{visible(path)}, unchanged: {shape_of(path, content)}",
            input_text(path, content),
            ranks[path],
        )
        for path, content in sorted(contents.items())
    ]
