"""Whether a probe reaches anything on this machine, tried by the drill beforehand."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

from drills.attacks.program import program

Sent = Callable[..., Any]


def reaches(
    probe: Sent, uses: tuple[Sent, ...] = (), given: Mapping[str, Any] | None = None
) -> bool:
    """Run it in a plain process, with the drill's own rights.

    For what is `absent` from a kernel; so only for probes that do nothing, whoever calls.
    """
    told = {**(given or {}), "mark": "tried"}
    command = [sys.executable, "-c", program(probe, told)]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    line = next(each for each in answer.stdout.splitlines() if each.startswith("tried "))
    return json.loads(line.removeprefix("tried ")).get("reached") is not None
