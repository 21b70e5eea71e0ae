"""Figures of a program that imports matplotlib itself; with it loaded: the contract suite."""

from __future__ import annotations

import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
PYTHON = TOP / ".venv" / "sandbox" / "bin" / "python"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from sandbox.zygote import plot_capture
plot_capture.install()
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig("mine.png")
plt.figure(); plt.bar([1, 2], [3, 4])
plt.figure()
plot_capture.save(".")
"""


def test_what_was_drawn_and_not_saved_is_saved(tmp_path: Path) -> None:
    env = {"MPLBACKEND": "Agg", "MPLCONFIGDIR": str(tmp_path / "own")}
    argv = [PYTHON, "-I", "-c", PROGRAM, TOP]
    subprocess.run(argv, cwd=tmp_path, env=env, check=True)
    assert {path.name for path in tmp_path.glob("*.png")} == {"mine.png", "figure-1.png"}
