"""Event: a past-tense fact about a job, appended once, numbered without gaps from 1 (J12).

| kind | data |
|---|---|
| submitted | by, task, review, model, priority, retry_of (a job, if it is tried anew) |
| started | attempt, worker |
| routed | difficulty: simple/medium/hard, model (the executor's; null: the default), reason, by: signals/model |
| planned | steps: [str], source: model/caller/default, note, waves: [[numbers of steps that go side by side]] (of a job that wants that) |
| merged | steps, files: [paths laid or removed], conflicts: [{path, steps, copies: [paths], what}], left_out: [{step, why}], artifacts |
| model_called | call, role, model, input_tokens, cached_input_tokens (part of them), output_tokens, cost_usd (null: unknown), seconds |
| step_started, step_finished | step: from 1, of the plan, revision; as the executor says, see `agents.steps`. A branch's, when it goes off and comes back, the latter with text, runs: [ids] |
| asked | questions: [{question, default}], note |
| tests_written | files: [paths], tests: [names], dropped: [{id, why}], interface, note |
| run_finished | a run, see below |
| repaired | run, of (the failed run), class, cause, diff, lines: {added, removed}, model, level, attempt, revision, fixed, closed: [failed runs that it has cured, or stands for], same: code/failure/null |
| tool_used | tool, path, ok, note, artifacts: what it wrote, as a run has them |
| answered | revision, text |
| review_opened | review_id, kind, digest |
| review_reminded, review_escalated | review_id, waited_seconds |
| review_expired | review_id, then: approve/reject/stay/answer |
| voted | review_id, by, key_id, feedback, override, digest, digest_named, approvals (so many now), approvals_needed |
| decided | review_id, action, by, key_id, feedback, override, digest, digest_named, approvals: [names], answers (of `answer`) |
| begun_anew | by, format: of the graph whose checkpoints do not count any more |
| checked | revision (null: of a verification), and a report of checks, see below |
| critiqued | revision, verdict: approve/revise, feedback, run, runs, score (0 to 1, or null), failed: [str], overruled (why, or null), by: critic/rules, ends (why the job does although revisions are left, or null), checks: {passed, total} or null |
| summarized | text |
| given_back | why: drained (or its worker cannot go on: no try of the job's)/retry, detail, delay_ms |
| lease_lost | worker, crashes |
| succeeded | approved_by |
| failed | reason, detail |
| cancelled | by |

A `digest` is that of what the review shows, see `jobs.review_digest`; `digest_named`: whoever
decided has named it. What was recorded by older releases has none.

Where models were passed over for the one that answered, `model_called` has `fell_back_from`:
[{model, reason}]. A recorded job's has `recorded` too: the digest of its turn, see
`jobs.recording`.

A run: {id, number, revision, by, code, end, exit_code, signal, stdout, stderr, seconds, succeeded,
failure, on, workspace, artifacts: [{name, digest, size, media_type}], refused: [str]}. `failure` is
null where it succeeded, else {class, cause, exception, file, line}: see `agents.repair.failure`;
`on` and `workspace` are the digests of the files before and after it, null for none. Runs of older
releases have none of the three. `code`, `stdout` and `stderr` are
{text, dropped_bytes, digest}: where the text is long, `text` is its head and tail and `digest`
names the whole in the artifact store; `dropped_bytes` counts what no one has kept. The `diff` of a
repair is such a text, too: all that was changed between the two runs. A run has `tool`
too: what it is a run of (python where it is missing, shell, run_tests); one of run_tests has
`tests`: {counts: {outcome: how many}, tests: [{id, outcome, detail}]}; one of shell that was given
less time than the job's limit has `wall_seconds`.

Steps that go side by side are branches: what `model_called`, `run_finished`, `repaired` and
`tool_used` tell of one has `step`, its number in the plan. Numbers of runs are unique, but for
gaps where branches have not made as many as their neighbours.

A report of acceptance checks: {passed, judged_by, problem, tests: [{id, outcome, detail}], run:
{end, exit_code, signal, stdout}, seconds}. `judged_by` is tests, script (that it comes to its own
end) or exit_code (that of a command, alone); reports of older releases lack it. `outcome` is passed, failed, error or missing (it is in the
checks' files, and was not heard of); `problem` says in words what else stands in the way, or is
null.
"""  # noqa: E501 - a table

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

EVENTS_AT_ONCE = 16
"""How many events a reader of a stream is handed at a time."""
FINAL_KINDS = frozenset({"succeeded", "failed", "cancelled"})
WORK = frozenset(
    {
        *("routed", "asked", "tests_written", "planned", "model_called", "run_finished"),
        *("repaired", "tool_used", "answered", "step_started", "step_finished", "merged"),
        *("checked", "critiqued", "summarized"),
    }
)
"""Events that tell of work done. The others tell of the job's own life."""


@dataclass(frozen=True, slots=True)
class NewEvent:
    """A fact that is to be appended. `key` is deterministic: a known key is not appended again."""

    key: str
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Event:
    """A fact on record: `seq` counts from 1, `at` is Redis' time in ms.

    `epoch`: that of the attempt that has told of its work; None for the job's own life, and for
    what older releases have told.
    """

    seq: int
    at: int
    kind: str
    data: Mapping[str, Any]
    epoch: int | None = None

    @property
    def final(self) -> bool:
        """Whether no event can follow."""
        return self.kind in FINAL_KINDS


def current(told: Sequence[Event]) -> Sequence[Event]:
    """The events since the job was begun anew, if it was: what was made before is given up."""
    begun = [place for place, event in enumerate(told, start=1) if event.kind == "begun_anew"]
    return told[begun[-1] :] if begun else told


def last_known(told: Sequence[Event]) -> str:
    """Where the work had come to, in words."""
    done = next((event for event in reversed(told) if event.kind in WORK), None)
    if done is None:
        return "before its first call had finished"
    names = (done.data.get(name) for name in ("role", "id", "tool"))
    whose = next((f" ({name})" for name in names if name), "")
    return f"behind event {done.seq}, {done.kind}{whose}"
