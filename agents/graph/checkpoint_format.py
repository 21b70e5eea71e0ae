"""Formats of the graph's checkpoints by number: the release writes WRITES, and reads READS.

A job's record names the format of its checkpoints, so that a worker does not continue a job that it
cannot read (`jobs/transitions/upgrade.py`). The number goes up with every change after which a checkpoint means
something else: a node or an edge is removed or renamed; a field of the state is removed, changes its
meaning, or becomes required by a node; journal entries get other keys; LangGraph cannot read its own
older checkpoints. `tests/unit/agents/test_agent_format.py`
compares the graph with its recorded shape.

An older number stays in READS as long as nodes can resume such a job, which means that they do not
require the missing fields (`state.get`).

| number | difference | how it is read |
|---|---|---|
| 1 | no number on record | such a job has no checkpoint yet, because the number is written with the first checkpoint: its worker died or stopped before that, or it is a verification, which has no checkpoints. (The first builds wrote checkpoints without a number, but no release did) |
| 2 | the record names the number, and the release | see 4 |
| 3 | the state has `repairs`, `level` and `workspace`, runs have `failure`, `on` and `workspace`, answers `workspace` and `artifacts`, critiques have `score`, `failed`, `runs`, `by` and `ends`; the calls of a long pass are named by the messages that the model got, without old output; nodes asker, questions, tester and checks, and `checked`, `reports`, `edits`, `tests`, `interface`, `asked` and `clarified`, which a job that does not want them has not; nodes branch and merge, and `waves`, `merged`, `branches`, `conflicts` and `left_out` of a job with parallel steps; the journal entries of its branches begin with a workspace | see 4 |
| 4 | the node verification in place of checks, and `verifications`; `repairs` is removed; answers have `stopped` | 2 and 3 are not read: their evidence was judged in another way. A person is asked whether to begin such a job anew |
| 5 | the job's fields have no `review`: it comes with the runtime context, so that a retry can change it; those of a retry may have `judged_before`; calls of models are recorded without the model's name, so that a retry with another one recalls them; the job has `inputs`, `repository_map` and `rebased`, and answers have `paused` | 4 is read: the field is ignored, and the calls of a pass that was interrupted are made again |
| 6 | the manifests of workspaces, which checkpoints and the journal name by digest, can have symbolic links and executable files | 4 and 5 are read: a manifest without them means the same. Older releases cannot read one with them |
| 7 | the job has `start`, `contents` and `steps_after`; the state has `only_answer` and `keeps_behaviour`; verifications have `strength`, `notes` and more, and critiques have `unmet` in place of `score` and `failed`; the calls of a pass are named by its complete conversation | 4, 5 and 6 are read: the missing fields mean that the figures are not known, and the calls of a long pass that was interrupted are made again |
"""  # noqa: E501 - a table

from __future__ import annotations

WRITES = 7
READS = frozenset({1, 4, 5, 6, 7})
