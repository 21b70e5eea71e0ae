from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]

# As nobody in particular: root may raise any limit again.
BOUND = """
import os, resource
from sandbox.agent.code_process import set_rlimits
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if os.getuid() == 0:
    os.setresuid(61_107, 61_107, 61_107)
set_rlimits({"RLIMIT_CORE": (1, 1), "RLIMIT_NOFILE": (30, 40)})
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_a_machine_that_allows_less_than_a_limit_is_no_hindrance() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOUND], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("(0, 0) (30, 40)\n", "")
