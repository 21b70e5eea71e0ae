"""What models say on the paths of repair: programs, good and bad, and replies."""

from __future__ import annotations

from benchmarks.provider import Reply
from benchmarks.repair.path import verifies

GOOD = "total = 1 + 2\nassert total == 3\nprint('ok')"
KEY = "total = {'a': 1}['b']"
INDEX = "total = [1][1]"
KIND = "total = 1 + '2'"
OTHER_KEY = "rate = 2\ntotal = {'a': 1}['b']"
"""Fails as KEY does, a line further down."""
TEXT = "total = int('x')"
CHECK = "from sums import add\nassert add(1, 2) == 3\nprint('ok')"
TEST = "from sums import add\n\n\ndef test_add():\n    assert add(1, 2) == 3\n"
WRONG = "def add(a, b):\n    return a - b\n"
RIGHT = "def add(a, b):\n    return a + b\n"
SAVES = f"with open('sums.py', 'w') as file:\n    file.write({RIGHT!r})\nprint('saved')"
PYTEST = """import subprocess, sys
subprocess.run([sys.executable, "-m", "pytest", "-q"])
"""
ENDLESS = "total = 0\nwhile True:\n    total += 1"
HUNGRY = "total = bytearray(2 * 1024 ** 3)\ntotal[::4096] = bytes([1]) * len(total[::4096])"
DONE = Reply("It adds.")
NONE = Reply("There is none.")
"""To the question for a verification."""
UNREADABLE = (Reply("Fine."), Reply("I said: fine."))
CIRCLE = (verifies(KEY),) * 4
