"""An event of each kind, with all optional fields."""

from __future__ import annotations

from typing import Any

from support.jobs.job_examples import VERIFIED

TEXT = {"text": "x", "dropped_bytes": 0, "digest": None}
TESTS = [
    {"id": "test_a", "outcome": "passed", "detail": ""},
    {"id": "b", "outcome": "failed", "detail": "no"},
]
RUN = {
    "id": "r1", "number": 1, "revision": 1, "by": "executor", "code": TEXT, "end": "exited",
    "exit_code": 1, "signal": None, "stdout": TEXT, "stderr": TEXT, "seconds": 0.1,
    "succeeded": False, "failure": {"class": "zero_division", "cause": "by 0", "exception": "Z"},
    "artifacts": [{"name": "a.png", "digest": "0" * 64, "size": 1, "media_type": "image/png"}],
    "refused": ["b: too large"], "tool": "verify", "tests": {"counts": {}, "tests": TESTS},
}  # fmt: skip
REPAIRED = {
    "run": "r2", "of": "r1", "class": "name", "cause": "x", "diff": {**TEXT, "text": "-a\n+b"},
    "lines": {"added": 1, "removed": 1}, "model": "m", "level": 0, "attempt": 1, "revision": 1,
}  # fmt: skip
CALLED = {
    "call": "c", "role": "planner", "model": "m", "input_tokens": 1, "cached_input_tokens": 0,
    "output_tokens": 1, "cost_usd": None, "seconds": 0.1,
    "fell_back_from": [{"model": "n", "reason": "away"}],
}  # fmt: skip
CRITIQUED = {
    "revision": 1, "verdict": "revise", "feedback": "f", "runs": ["r1"], "overruled": "why",
    "unmet": [{"criterion": "c", "location": "a.py:1", "reason": "b"}],
}  # fmt: skip
DECIDED = {
    "review_id": "r",
    "action": "approve",
    "by": "a",
    "feedback": "f",
    "override": True,
    "digest": "0" * 64,
    "files": {"a.py": "0" * 64, "b.py": None},
}
EXAMPLES: dict[str, dict[str, Any]] = {
    "submitted": {"by": "a", "task": "t", "retry_of": "0" * 20, "rebase_of": "0" * 20,
                  "fork_of": "0" * 20},
    "message_added": {"number": 1, "by": "a", "key_id": "k", "person": "p", "text": "t"},
    "messages_read": {"messages": [1], "role": "executor"},
    "started": {"attempt": 1, "worker": "w"},
    "fetch_started": {"url": "https://git.example/a.git", "ref": None},
    "files_missing": {"missing": ["1 file is a pointer of Git LFS"]},
    "setup_left_out": {"command": "npm ci"},
    "setup_started": {"command": "pip install -e ."},
    "setup_finished": {"command": "pip install -e .", "ok": False, "reused": False, "seconds": 1.5,
                       "output": "ERROR: no such package"},
    "planned": {"steps": ["a"], "source": "caller", "note": "n"},
    "model_called": CALLED,
    "run_finished": RUN,
    "repaired": REPAIRED,
    "tool_used": {"tool": "t", "path": "p", "ok": False, "note": "n", "artifacts": [],
                  "diff": "--- a/p\n+++ b/p\n@@ -1 +1 @@\n-old line\n+new line"},
    "step_started": {"step": 1, "revision": 1},
    "step_finished": {"step": 1, "revision": 1},
    "merged": {
        "steps": [1, 2], "files": ["a"], "left_out": [{"step": 3, "why": "w"}],
        "conflicts": [{"path": "a", "steps": [1, 2], "copies": ["b", "c"], "what": "w"}],
    },
    "answered": {"revision": 1, "text": "t"},
    "review_opened": {"review_id": "r", "kind": "questions", "digest": "d"},
    "review_expired": {"review_id": "r", "then": "stay"},
    "review_reminded": {"review_id": "r", "waited_seconds": 1_800},
    "review_assigned": {"review_id": "r", "by": "a", "key_id": "k", "person": "p", "assignee": "q"},
    "review_escalated": {"review_id": "r", "waited_seconds": 3_600},
    "voted": {"by": "a", "feedback": "f", "approvals": 1, "approvals_needed": 2, "override": True},
    "vote_withdrawn": {"by": "a", "feedback": "f", "approvals": 0, "approvals_needed": 2},
    "decided": DECIDED,
    "begun_anew": {"by": "a", "format": 2},
    "checked": {"revision": 1, "passed": False, "problem": "p", "tests": TESTS, "seconds": 1},
    "verified": VERIFIED,
    "asked": {"questions": [{"question": "q", "default": "d"}], "note": "n"},
    "tests_written": {"files": ["t.py"], "tests": ["a"], "dropped": [{"id": "b", "why": "w"}],
                      "note": "n"},
    "critiqued": CRITIQUED,
    "routed": {"difficulty": "hard", "model": "m", "reason": "r", "by": "rules"},
    "summarized": {"text": "t"},
    "benchmark_started": {"id": "j", "set": {"name": "s"}, "settings": {"model": "m"}, "tries": 2},
    "exercise_finished": {"id": "e", "repeat": 1, "why_not": None,
                          "final": {"passed": False, "why": "w"}},
    "delivered": {"branch": "fettle/j", "commit": "c" * 40, "pull_request": "https://x.test/pull/1",
                  "base": "main", "base_moved": True, "note": "n"},
    "given_back": {"why": "retry", "detail": "d", "delay_ms": 10},
    "lease_lost": {"worker": "w", "crashes": 1},
    "succeeded": {"approved_by": "a"},
    "failed": {"reason": "deadline", "detail": "d"},
    "cancelled": {"by": "a"},
}  # fmt: skip
