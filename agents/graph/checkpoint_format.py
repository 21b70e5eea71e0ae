"""The form of the graph's checkpoints, by number: what this release writes, and what it reads.

A job's record names the number that its checkpoints bear, so that a worker leaves alone what it
cannot go on from (`jobs/upgrade.py`). The number goes up with every change after which a checkpoint
means something else: a node or an edge that is gone or has another name, a field of the state that
is gone, has another meaning, or that a node takes for granted; another naming of journal entries;
a LangGraph that cannot read its own older checkpoints. `tests/unit/agents/test_agent_format.py`
holds the graph against its shape as it was, and says so.

An older number stays in READS as long as a job of it is resumed right, by nodes that take what is
missing for granted no more (`state.get`). A golden checkpoint shows it: see `tests/golden`.

| number | what is different | how it is read |
|---|---|---|
| 1 | no number on record | as it is: such a job has no checkpoint yet, since the number is written with the first one. Its worker has died or been stopped before that, or it is a verification, which has none. (The first builds wrote checkpoints without a number: no release did) |
| 2 | the record names the number, and the release | see 4 |
| 3 | the state has `repairs`, `level` and `workspace`, runs have `failure`, `on` and `workspace`, answers `workspace` and `artifacts`, critiques have `score`, `failed`, `runs`, `by` and `ends`; the calls of a long pass are named by what the model got, without old output; nodes asker, questions, tester and checks, and `checked`, `reports`, `edits`, `tests`, `interface`, `asked` and `clarified`, which a job that does not want them has not; nodes branch and merge, and `waves`, `merged`, `branches`, `conflicts` and `left_out` of a job that wants steps side by side, whose journal entries of branches begin with a workspace | see 4 |
| 4 | the node verification in place of checks, and `verifications`; `repairs` is gone; answers have `stopped` | 2 and 3 are not read: their evidence was judged in another way. A person is asked whether to begin such a job anew |
"""  # noqa: E501 - a table

from __future__ import annotations

WRITES = 4
READS = frozenset({1, 4})
