"""How the programs have ended when they were last run: a record, against which each
change of the classification can be checked in milliseconds."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from agents.texts import head_and_tail
from benchmarks.repair.programs import Classified, Program, load
from sandbox.protocol import End, RunResult, Stream

FILE = Path(__file__).with_name("results.json")
KEPT = 4_000
"""Characters of an output: what shows a failure stands at its head or its end."""
_HOME = re.compile(r"/[\w./-]+?(?=/(?:lib|bin)/python)")
"""Where the interpreter lies is nothing of the program's."""


def write_down(classified: Sequence[Classified], path: Path = FILE) -> None:
    """Keep how each of these programs has ended."""
    kept = {named(each.program): _fields(each) for each in classified}
    path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")


def recorded(path: Path = FILE) -> list[Classified]:
    """All programs, classified by the record. Raises KeyError where one of them is new or has
    changed: `python -m benchmarks.repair --record` runs them."""
    kept = json.loads(path.read_text())
    return [each.classified(_result(kept[named(each)], each)) for each in load()]


def named(program: Program) -> str:
    """A program's class and name."""
    return f"{program.kind}/{program.name}"


def _fields(classified: Classified) -> dict[str, Any]:
    result = classified.result
    return {
        "program": _digest(classified.program),
        "end": result.end.value,
        "exit_code": result.exit_code,
        "signal": result.signal,
        "stdout": _kept(result.stdout.text),
        "stderr": _kept(result.stderr.text),
    }


def _kept(text: str) -> str:
    return _HOME.sub("/usr", head_and_tail(text, KEPT))


def _result(kept: Mapping[str, Any], program: Program) -> RunResult:
    if kept["program"] != _digest(program):
        raise KeyError(named(program))
    outputs = Stream(kept["stdout"]), Stream(kept["stderr"])
    return RunResult(End(kept["end"]), kept["exit_code"], kept["signal"], *outputs, 0.0)


def _digest(program: Program) -> str:
    parts = [program.code, dict(program.files), program.shell, dict(program.limits)]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]
