"""Which runs the critic sees, and how much of each."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agents.attempt import Ports
from agents.critic.outputs import (
    OTHER_OUTPUT_SHOWN,
    OUTPUT_SHOWN,
    only_looks,
    problem_of,
    quoted_lines,
    quoted_words,
    run_text,
)
from agents.critic.sections import RUNS, VERIFICATION, Section, section
from agents.critic.verified import verification_lines
from agents.evidence.verdict import verification_of
from agents.ports import Workspace
from agents.runs.report import ending_of
from agents.state import Run, State, text_in
from agents.texts import one_line

MOST_RUNS = 12
"""Runs whose outputs are shown, beside the verification."""
MOST_READ = 40
"""The last runs. Those of earlier revisions are shown if the answer quotes them."""
MOST_LISTED = 20
COMMAND_SHOWN = 120


@dataclass(frozen=True, slots=True)
class ShownRuns:
    """The runs of a job as the critic sees them. `shown` has the complete outputs of a run."""

    shown: Sequence[tuple[Run, Mapping[str, str]]]
    """In the order of the runs."""
    quoted: frozenset[str]
    """The ids of the runs whose outputs the answer quotes."""
    looks: Sequence[Run]
    """Runs that only showed files."""
    left_out: Sequence[Run]
    verified: Run | None
    words: Sequence[str]
    """The words of the answer that may come from an output."""
    ports: Ports

    @classmethod
    async def of(cls, state: State, ports: Ports) -> ShownRuns:
        """Reads the outputs of the last runs."""
        runs, record = state.get("runs", []), verification_of(state)
        verified = next((run for run in runs if record and run["id"] == record["run"]), None)
        looks = [run for run in runs if run is not verified and only_looks(run)]
        ids = {run["id"] for run in looks} | ({verified["id"]} if verified else set())
        others = [run for run in runs if run["id"] not in ids]
        answers = state.get("answers", [])
        words = quoted_words(answers[-1]["text"] if answers else "")
        last = others[-MOST_READ:]
        texts = await asyncio.gather(*(_outputs(run, ports.workspace) for run in last))
        outputs = {run["id"]: each for run, each in zip(last, texts, strict=True)}
        quoted = frozenset(run for run, each in outputs.items() if _is_quoted(each, words))
        known = [run for run in others if run["id"] in outputs]
        now = [run for run in known if run["revision"] == state["revision"]]
        best = [*(run for run in now if run["id"] not in quoted)]
        best += [run for run in known if run["id"] in quoted]
        chosen = {run["id"] for run in best[-MOST_RUNS:]}
        shown = [(run, outputs[run["id"]]) for run in known if run["id"] in chosen]
        if verified is not None:
            shown.append((verified, await _outputs(verified, ports.workspace)))
        left_out = [run for run in others if run["id"] not in chosen]
        return cls(shown, quoted, looks, left_out, verified, words, ports)

    @property
    def programs(self) -> list[str]:
        """The texts of the runs that are shown."""
        return [text_in(run, "code") for run, _ in self.shown]

    def values(self, state: State) -> dict[str, Any]:
        """For the template."""
        others = [run["id"] for run, _ in reversed(self.shown) if run is not self.verified]
        order = sorted(others, key=lambda run: run not in self.quoted)  # the latest of each first
        ranks = {run: number for number, run in enumerate(order, RUNS)}
        record = verification_of(state)
        if self.verified is not None:
            ranks[self.verified["id"]] = VERIFICATION
        sections = {
            run["id"]: self._section(run, outputs, ranks[run["id"]]) for run, outputs in self.shown
        }
        return {
            "verified": record,
            "verification_lines": verification_lines(record) if record else [],
            "verification_run": sections.pop(self.verified["id"]) if self.verified else None,
            "runs": list(sections.values()),
            "looks": [_one_line(run) for run in self.looks[-MOST_LISTED:]],
            "left_out": [self._ending(run) for run in self.left_out[-MOST_LISTED:]],
        }

    def _section(self, run: Run, outputs: Mapping[str, str], rank: int) -> Section:
        shown_in_full = run is self.verified or run["id"] in self.quoted
        limit = OUTPUT_SHOWN if shown_in_full else OTHER_OUTPUT_SHOWN
        text = run_text(run, outputs, self.words, limit)
        if problem := problem_of(run):
            text = f"That is a failure: {problem}.\n\n{text}"
        return section(self._ending(run), text, rank)

    def _ending(self, run: Run) -> str:
        by = "" if run["by"] == "executor" else f", run by {run['by']}"
        ending = ending_of(run, self.ports.limits)
        return f"{run['id']}, revision {run['revision']}{by}{self._age(run)}: {ending}"

    def _age(self, run: Run) -> str:
        """A phrase for a run that left other files than there are now. Runs of older releases do
        not say which files they left."""
        delivered = self.ports.workspace.digest
        is_current = run.get("workspace", delivered) == delivered
        return "" if is_current else ", before the last change of files"


def _is_quoted(outputs: Mapping[str, str], words: Sequence[str]) -> bool:
    return any(quoted_lines(text, words) for text in outputs.values())


async def _outputs(run: Run, workspace: Workspace) -> dict[str, str]:
    """The complete outputs of a run, as far as they were kept."""
    outputs = {}
    for name in ("stdout", "stderr"):
        stream = run[name]
        text = text_in(run, name)
        if digest := stream.get("digest"):
            text = (await workspace.kept(digest)).decode(errors="replace")
        if dropped := stream["dropped_bytes"]:
            text = f"{text.rstrip()}\n[{dropped:,} bytes more were not kept]"
        outputs[name] = text
    return outputs


def _one_line(run: Run) -> str:
    return f"{run['id']} `{one_line(text_in(run, 'code'), COMMAND_SHOWN)}`"
