"""The interpreter's own messages, where only those are left: a program that catches what it raises
and prints it before it exits. Pure."""

from __future__ import annotations

import re

from agents.failures.failure import FailureClass

_MESSAGES: tuple[tuple[FailureClass, str], ...] = (
    (FailureClass.IMPORT, r"No module named \S"),
    (FailureClass.IMPORT, r"cannot import name '"),
    (FailureClass.RECURSION, r"maximum recursion depth exceeded"),
    (
        FailureClass.NETWORK_DENIED,
        r"Name or service not known|name resolution|Network is unreachable",
    ),
    (FailureClass.FILE, r"\[Errno (?:1|2|13|17|20|21|30)\] "),
    (FailureClass.FILE, r": (?:No such file or directory|Permission denied)\Z"),
    (FailureClass.ZERO_DIVISION, r"(?:division|modulo) by zero|division by 0"),
    (FailureClass.NAME, r"name '\w+' is not defined|object has no attribute '"),
    (FailureClass.KEY, r"(?:list|tuple|string|deque) index out of range"),
    (FailureClass.VALUE, r"invalid literal for int\(\)|could not convert string to float"),
    (FailureClass.TYPE, r"unsupported operand type\(s\) for "),
    (FailureClass.TYPE, r"\w\(\) (?:takes|missing|got) .{0,80}argument"),
    (FailureClass.TYPE, r"'\w+' object is not (?:callable|iterable|subscriptable)"),
)
_PATTERNS = tuple((kind, re.compile(text)) for kind, text in _MESSAGES)


def kind_of_words(line: str) -> FailureClass | None:
    """The class that a program's last line stands for; what a task's own words say is no sign."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(line)), None)
