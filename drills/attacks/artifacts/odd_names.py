"""Leaves names that a terminal obeys, a path library misreads, a decoder chokes on."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.secrets import holds

NAMES = (
    *("new\nline.png", "car\rriage.png", "tab\t.png", "\x1b[2J\x1b]0;title\x07.png", "del\x7f.png"),
    *("c1\x9b31m.png", "over\u202egnp.exe", "line\u2028.png", "iso\u2066late.png", "nel\x85.png"),
    *("-rf", "--help", "~", "$(id)", "`id`", ";id", "a b ", ".hidden", "...", "C:\\x", "..\\..\\x"),
    *("%2e%2e%2fx", "con.png", "a:b", "x" * 255, "\U0001f4a5.png", "zero\u200bwidth.png"),
)
RAW = (b"\xff\xfe.png", b"half\xc3", b"surrogate\xed\xa0\x80.png", b"overlong\xc0\xaf.png")


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    for name in (*map(os.fsencode, given["names"]), *map(bytes.fromhex, given["raw"])):
        os.mkdir(b"in-" + name[:200])
        for path in (name, b"in-" + name[:200] + b"/x"):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.symlink(b"/etc/passwd", b"to-" + name[:200])
    long = ""
    for _ in range(12):
        long += "y" * 200 + "/"
        os.mkdir(long)
    os.close(os.open(f"{long}z", os.O_CREAT | os.O_WRONLY))
    return careless(given)


ATTACK = Attack(
    probe,
    expects="names that may do harm stay behind, and are told in plain letters",
    given={"names": NAMES, "raw": [each.hex() for each in RAW], "comes": ["honest.txt"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
