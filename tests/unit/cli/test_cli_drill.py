from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

DRILL = """
import pathlib, signal, sys, time
def clear_up(*_):
    pathlib.Path(sys.argv[1]).write_text("cleared up")
    sys.exit(0)
signal.signal(signal.SIGTERM, clear_up)
print("ready", flush=True)
time.sleep(20)
"""
COMMAND = """
import sys
from cli.drill import drill
from cli.signals import Stopped
try:
    drill("slow", sys.argv[1:])
except Stopped as stopped:
    sys.exit(stopped.exit_code)
"""


def test_who_ends_the_command_ends_the_drill_which_clears_up(tmp_path: Path) -> None:
    drills, said = tmp_path / "drills", tmp_path / "said"
    drills.mkdir()
    (drills / "__init__.py").touch()
    (drills / "slow.py").write_text(DRILL)
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(said)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "ready\n"
        command.send_signal(signal.SIGTERM)
        assert command.wait(10) == 128 + signal.SIGTERM
    assert said.read_text() == "cleared up"
