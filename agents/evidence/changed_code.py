"""The Python code that a job changed: its functions, and small changes of it (mutations).

A program in a sandbox parses the code, because a hostile text can crash a parser or keep it busy
(ADR 61). Mutations are made here and not by a library: cosmic-ray and mutmut change files on a
disk and run the tests themselves (ADR 79).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from agents.attempt import Ports
from agents.evidence.changes import ChangedFile
from agents.evidence.record import ChangedFunctions, UnnoticedMutation
from agents.runs.helper import run_helper
from agents.runs.sources import with_first_statement
from agents.sandbox_programs import source
from sandbox.protocol import Command

CALLS = ".fettle-calls"
"""The file of `/work` to which functions write their numbers when they run."""
LOADED = -1
"""The number that a file writes when it is loaded."""
MOST_FUNCTIONS = 200
MOST_BYTES = 256 * 1024
"""The size of a file that is parsed."""
_RECORDER = f"""\
def _fettle_ran(number, seen=set(), posix=__import__("posix")):
    if number not in seen:
        seen.add(number)
        try:
            file = posix.open("/work/{CALLS}", posix.O_APPEND | posix.O_CREAT | posix.O_WRONLY)
            posix.write(file, b"%d\\n" % number)
            posix.close(file)
        except OSError:
            pass
_fettle_ran({LOADED})
"""
"""It needs no module but `posix`, which tests do not replace, and each process writes on its own:
a recorder in the interpreter would lose child processes, and would compete with coverage."""


class Function(BaseModel):
    """A function that the job wrote or changed, as the program `changed_code` describes it."""

    path: str
    name: str
    at: int
    indent: str | None
    line: int
    end_line: int

    @property
    def full_name(self) -> str:
        """`path::qualified.name`"""
        return f"{self.path}::{self.name}"


class Mutation(BaseModel):
    """The bytes of a file from `start` to `end` become `text`; the line before and after."""

    path: str
    line: int
    start: int
    end: int
    text: str
    before: str
    after: str

    def apply(self, content: bytes) -> bytes:
        """The file with the mutation."""
        return content[: self.start] + self.text.encode() + content[self.end :]

    def unnoticed(self) -> UnnoticedMutation:
        """Its record."""
        return UnnoticedMutation(
            path=self.path, line=self.line, before=self.before, after=self.after
        )


class ChangedCode(BaseModel):
    """The Python code that the job changed."""

    functions: Sequence[Function] = ()
    """Functions that do something, innermost first."""
    mutations: Sequence[Mutation] = ()
    """The mutations, in the order in which they are tried."""
    with_code: Sequence[str] = ()
    """The files with changed statements outside functions."""


class Calls(NamedTuple):
    """Which of the changed functions ran."""

    executed: Sequence[Function]
    not_executed: Sequence[Function]

    def record(self) -> ChangedFunctions:
        """Their names."""
        return ChangedFunctions(
            executed=[function.full_name for function in self.executed],
            not_executed=[function.full_name for function in self.not_executed],
        )


@dataclass(frozen=True, slots=True)
class CodeReader:
    """Reads the changed code. At most `mutations` are drawn, by a seed from the workspace."""

    ports: Ports
    mutations: int

    async def read(self, files: Sequence[ChangedFile]) -> ChangedCode:
        """The changed code of the Python files among `files`; empty if they cannot be parsed in
        time. Raises the errors of the sandbox, and
        `agents.errors.Stopped`."""
        texts = [texts_of_file for file in files if (texts_of_file := _texts(file)) is not None]
        if not texts:
            return ChangedCode()
        await self.ports.cancel.check()
        order = {
            "files": texts,
            "seed": self.ports.workspace.digest,
            "mutations": self.mutations,
            "functions": MOST_FUNCTIONS,
        }
        argv = ("python", "-I", "-S", "-c", source("changed_code"))
        command = Command(argv, stdin=json.dumps(order).encode(), collect=False)
        result = await run_helper(self.ports, command, "of the changed code")
        try:
            return ChangedCode.model_validate_json(result.stdout.text if result.succeeded else "{}")
        except ValidationError:
            return ChangedCode()


def _texts(file: ChangedFile) -> dict[str, str | None] | None:
    """The texts of a Python file before and after the change; None for other files."""
    after = file.after
    if after is None or not file.path.endswith(".py") or len(after) > MOST_BYTES:
        return None
    try:
        text = after.decode()
    except UnicodeDecodeError:
        return None
    before = None if file.before is None else file.before[:MOST_BYTES].decode(errors="replace")
    return {"path": file.path, "before": before, "after": text}


def recording(files: Mapping[str, bytes], functions: Sequence[Function]) -> dict[str, bytes]:
    """The `files`, in which each of these functions records that it runs."""
    changed = _with_statements(files, functions, lambda number: f"_fettle_ran({number})")
    for path in {function.path for function in functions}:
        changed[path] = with_first_statement(changed[path], f"exec({_RECORDER!r})".encode())
    return changed


def raising(files: Mapping[str, bytes], functions: Sequence[Function]) -> dict[str, bytes]:
    """The `files`, in which each of these functions raises an error at once."""
    return _with_statements(files, functions, lambda _: "raise RuntimeError('replaced')")


def _with_statements(
    files: Mapping[str, bytes], functions: Sequence[Function], statement: Callable[[int], str]
) -> dict[str, bytes]:
    """The `files`, with the statement for its number at the beginning of each function."""
    changed = dict(files)
    for number, function in sorted(enumerate(functions), key=lambda each: -each[1].at):
        text, at = statement(number), function.at
        line = f"{text}; " if function.indent is None else f"{function.indent}{text}\n"
        content = changed[function.path]
        changed[function.path] = content[:at] + line.encode() + content[at:]
    return changed


def calls_in(record: bytes, functions: Sequence[Function]) -> Calls | None:
    """The functions with their numbers in the file that the run left; None if the run could not
    write it, or has removed it."""
    lines = record.split()
    if b"%d" % LOADED not in lines:
        return None
    numbers = {int(line) for line in lines if line.isdigit() and len(line) < 5}
    ran = [number in numbers for number in range(len(functions))]
    executed = [function for function, has_run in zip(functions, ran, strict=True) if has_run]
    return Calls(executed, [function for function in functions if function not in executed])
