"""The program of a probe: its source and its inputs, as one text; and its report. Pure.

A probe is sent with everything that it uses of its module: imported modules, constants, and
functions of this package, recursively. The report is the last line of the program's output, on
standard output or, if the probe has closed that, on standard error. It contains the run's mark, so
that no other line is mistaken for it.
"""

from __future__ import annotations

import ast
import dis
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from lab.drills.attacks.outcome import ProbeReport
from sandbox.protocol import RunResult

_START = "from __future__ import annotations\n"
_END = """
def _report(inputs):
    import json, os, traceback
    own = os.getpid()
    try:
        found = {{"reached": {call}}}
    except BaseException:
        found = {{"broken": traceback.format_exc()[-2000:]}}
    if os.getpid() != own:
        os._exit(0)
    line = "\\n" + inputs["mark"] + " " + json.dumps(found) + "\\n"
    for fd in (1, 2):
        try:
            os.write(fd, line.encode())
            break
        except OSError:
            pass
    os._exit(0)

import json
_report(json.loads({inputs!r}))
"""


def program(probe: Callable[..., Any], inputs: Mapping[str, Any]) -> str:
    """The program that calls `probe` and reports. `inputs` is JSON and has a `mark`. Raises
    TypeError if the probe uses an object that cannot be sent.
    """
    if not isinstance(probe, FunctionType):
        raise TypeError(f"no function: {probe}")
    parts: dict[str, str] = {}
    _collect(probe, parts)
    call = f"{probe.__name__}({'inputs' if probe.__code__.co_argcount else ''})"
    return _START + "\n".join(parts.values()) + _END.format(call=call, inputs=json.dumps(inputs))


def _collect(function: FunctionType, parts: dict[str, str]) -> None:
    """Add the function's source to `parts`, by name, and recursively everything that it uses except
    builtins."""
    if not _add(parts, function.__name__, _source(function)):
        return
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType):
            _collect(value, parts)
        elif name in function.__globals__:
            _add(parts, name, _definition(name, value))


def _add(parts: dict[str, str], name: str, text: str) -> bool:
    """Add a definition; returns whether it is new. Raises TypeError if the name already has another
    meaning.
    """
    if name in parts and parts[name] != text:
        raise TypeError(f"two things are called {name}")
    is_new = name not in parts
    parts[name] = text
    return is_new


def _definition(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        return f"import {value.__name__} as {name}"
    try:
        if ast.literal_eval(repr(value)) == value:
            return f"{name} = {value!r}"
    except (ValueError, SyntaxError):
        pass
    raise TypeError(f"cannot be sent into a sandbox: {name}, {type(value).__name__}")


def _source(function: FunctionType) -> str:
    """The source of a function at the top of its module, without its decorators."""
    text = inspect.getsource(function)
    node = ast.parse(text).body[0]
    return "\n".join(text.splitlines()[node.lineno - 1 :]) + "\n"


def _names(code: CodeType) -> Iterator[str]:
    """The global names that a function, and the functions in it, use."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def report(result: RunResult, mark: str) -> ProbeReport | None:
    """The report of the program with this mark; None without a report."""
    for text in (result.stdout.text, result.stderr.text):
        for line in reversed(text.splitlines()):
            if line.startswith(f"{mark} "):
                return _read(line.removeprefix(f"{mark} "))
    return None


def _read(text: str) -> ProbeReport:
    try:
        report = json.loads(text)
        return ProbeReport(report.get("reached"), report.get("broken"))
    except (ValueError, AttributeError) as error:
        return ProbeReport(broken=f"a report that cannot be read: {error}")
