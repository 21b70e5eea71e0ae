"""What processes take, with what they have started."""

from __future__ import annotations

import subprocess
import sys

from benchmarks.scale.memory import Peak, taken

MIB = 1024 * 1024
HOLDS = f"data = b'x' * {48 * MIB}; print('ready', flush=True); input()"


def test_a_process_and_what_it_has_started_count_apart() -> None:
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {HOLDS!r}])"
    with subprocess.Popen(
        [sys.executable, "-I", "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        with Peak([process.pid]) as peak:
            found = taken([process.pid])
        process.communicate(b"\n")
    for each in (found, peak.most):
        assert 1 < each.own < 40
        assert 48 < each.below < 90
        assert each.together == each.own + each.below
