"""The best result of a job that ends early: what its checkpoints hold, and what came after them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agents.outcome import outcome
from jobs import view
from jobs.events import Event, current
from jobs.record import Result
from worker.ending import result_of


def best(
    values: Mapping[str, Any], told: Sequence[Event], there: Collection[str] | None = None
) -> Result | None:
    """The result so far, or None where nothing was made. Pure.

    A pass of the executor keeps no checkpoints: one that is cut short has left its runs and files
    in the events alone. Where no pass has given an answer yet, the code of the last run that
    succeeded stands for one, with the files that were made and are still `there` (None: all).
    """
    runs = [event.data for event in current(told) if event.kind == "run_finished"]
    ended = outcome({**values, "runs": runs or values.get("runs", [])})
    artifacts = {each["name"]: each for each in ended.artifacts}
    if not values.get("answers"):
        made = view.artifacts(told)
        artifacts |= {name: made[name] for name in made if there is None or name in there}
    answer = ended.answer or _code(runs)
    if not answer and not artifacts:
        return None
    return replace(result_of(ended), answer=answer, artifacts=tuple(artifacts.values()))


def _code(runs: Sequence[Mapping[str, Any]]) -> str:
    good = (run["code"]["text"] for run in reversed(runs) if run["succeeded"])
    code = next(good, None)
    return (
        "" if code is None else f"The last program that ran to its end:\n\n```python\n{code}\n```"
    )
