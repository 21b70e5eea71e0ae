"""`python -m drills.attacks`: exit 0 where every attack was held by every backend.

The attacks run in a process of their own (`inside.py`), which has the canaries that only a new
process can have from its start: in its environment block, and as an inherited descriptor.
"""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
from tempfile import TemporaryFile

from drills.attacks.environment.host import SECRET_LETTERS, START, VARIABLE
from settings.client import inherited


def main() -> None:
    """Plant those canaries and run the rest."""
    secret = "".join(START) + secrets.token_hex(SECRET_LETTERS // 2)
    with TemporaryFile() as canary:
        canary.write(secret.encode())
        canary.flush()
        safely = ["-P"] if sys.flags.safe_path else []
        command = [sys.executable, *safely, "-m", "drills.attacks.inside", str(canary.fileno())]
        process = subprocess.Popen(
            [*command, *sys.argv[1:]],
            env=inherited({VARIABLE: secret}),
            pass_fds=(canary.fileno(),),
        )
        # The terminal interrupts it by itself; other signals are passed on.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda _number, _frame: process.terminate())
        code = process.wait()
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
