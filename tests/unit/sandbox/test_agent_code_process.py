from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]

# Run as an unprivileged user: root may raise any limit again.
BOUND = """
import os, resource
from sandbox.agent.code_process import set_rlimits
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
if os.getuid() == 0:
    os.setresuid(61_107, 61_107, 61_107)
set_rlimits({"RLIMIT_CORE": (1, 1), "RLIMIT_NOFILE": (30, 40)})
print(resource.getrlimit(resource.RLIMIT_CORE), resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_a_lower_limit_of_the_machine_is_accepted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", BOUND], cwd=TOP, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("(0, 0) (30, 40)\n", "")
