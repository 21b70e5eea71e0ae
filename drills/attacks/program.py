"""The program of a probe: its source and what it is told, as one text; and its report. Pure.

The report is the last line of what the program writes, on standard output or, where the probe has
closed that, on standard error. It bears the run's mark, so that nothing else is taken for it.
"""

from __future__ import annotations

import inspect
import json
import textwrap
from collections.abc import Callable, Mapping
from typing import Any

from drills.attacks.seen import Report
from sandbox.protocol import RunResult

_START = "from __future__ import annotations\n"
_END = """
def _tell(given):
    import json, os, traceback
    own = os.getpid()
    try:
        told = {{"reached": probe(given)}}
    except BaseException:
        told = {{"broken": traceback.format_exc()[-2000:]}}
    if os.getpid() != own:
        os._exit(0)
    line = "\\n" + given["mark"] + " " + json.dumps(told) + "\\n"
    for fd in (1, 2):
        try:
            os.write(fd, line.encode())
            break
        except OSError:
            pass
    os._exit(0)

import json
_tell(json.loads({given!r}))
"""


def program(
    probe: Callable[..., Any], uses: tuple[Callable[..., Any], ...], given: Mapping[str, Any]
) -> str:
    """The program that calls `probe(given)` and reports. `given` is JSON and has a `mark`."""
    sources = [textwrap.dedent(inspect.getsource(each)) for each in (*uses, probe)]
    sources[-1] = sources[-1].replace(f"def {probe.__name__}(", "def probe(", 1)
    return _START + "\n\n".join(sources) + _END.format(given=json.dumps(given))


def report(result: RunResult, mark: str) -> Report | None:
    """What the program with this mark has reported; None where it has not."""
    for text in (result.stdout.text, result.stderr.text):
        for line in reversed(text.splitlines()):
            if line.startswith(f"{mark} "):
                return _read(line.removeprefix(f"{mark} "))
    return None


def _read(text: str) -> Report:
    try:
        told = json.loads(text)
        return Report(told.get("reached"), told.get("broken"))
    except (ValueError, AttributeError) as error:
        return Report(broken=f"a report that cannot be read: {error}")
