"""Hidden: commands whose exit codes a command line does not pass on, so that its own says nothing
of how they ended. Pure.

The tool `shell` stops at the first command that fails (`-e -o pipefail`); `||`, `set +e`, a
condition and `&` take that back.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from agents.repair.command_line import WRAPPED, is_aside_command, name, wrapped
from agents.repair.simple_command import Simple, split, substituted, without_documents

_STRICT = re.compile(r"-[a-z]*e[a-z]*")
"""With this a shell of its own stops at the first command that fails, too."""
_GOES_ON = frozenset({"&&", "|", "|&", ")"})
"""Behind these comes what is done with a command's exit code."""
_ENDS = frozenset({"exit", "false", "return"})
_ASKS = frozenset({"[", "[[", "test"})
_SAYS = frozenset({"echo", "printf"})
"""These end well whatever becomes of what is put into their words."""
_GOOD = frozenset({"0"})


def hides_all(text: str) -> bool:
    """Whether a command line runs code, and its own exit code says of none how that ended."""
    hidden = [*_hidden(text)]
    return bool(hidden) and all(hidden)


def hides_any(text: str) -> bool:
    """Whether a command line may end well although code that it runs has failed."""
    return any(_hidden(text))


def _hidden(text: str, depth: int = WRAPPED, *, lenient: bool = False) -> Iterator[bool]:
    """Of each command that is no aside, in order, whether its exit code is lost."""
    found = [*split(without_documents(text, lambda _: True))]
    last = max((at for at, simple in enumerate(found) if simple.words), default=0)
    passed_on = _last_passing_on(found)
    caught = _caught(found)
    for at, simple in enumerate(found):
        words = simple.words
        if not words:
            continue
        if words[0] == "set":
            lenient = _lenient(words, before=lenient)
        lost = simple.is_condition or caught[at] or (lenient and at < last)
        lost = (lost and at >= passed_on) or _is_put_into_words(found[at - 1] if at else None)
        inner = wrapped(words) if depth else None
        if inner is not None:
            strict = words[0] == "eval" or any(map(_STRICT.fullmatch, words[1:3]))
            within = _hidden(inner, depth - 1, lenient=lenient or not strict)
            yield from (lost or each for each in within)
        elif not is_aside_command(words):
            yield lost
        elif name(words) in _SAYS:
            inside = substituted(f'"{" ".join(words)}"')
            yield from (True for each in inside if each.words and not is_aside_command(each.words))


def _is_put_into_words(before: Simple | None) -> bool:
    """Whether what stands `before` a command takes its output for a word, and drops its exit code:
    `echo $(python a.py)`."""
    if before is None or before.operator != "(" or not before.words:
        return False
    return name(before.words) in _SAYS and before.words[-1].endswith("$")


def _caught(found: Sequence[Simple]) -> list[bool]:
    """Of each command, whether something else is done where it fails, or nobody waits for it."""
    told: list[bool] = []
    behind = False
    for simple in reversed(found):
        if simple.operator not in _GOES_ON:
            behind = simple.operator == "&" or simple.operator.startswith("||")
        told.append(behind)
    return told[::-1]


def _last_passing_on(found: Sequence[Simple]) -> int:
    """Where the last command stands that ends the line by what has failed before it: `exit 1`,
    `exit $code`, `[ $code = 0 ]`; -1 where there is none."""
    return max((at for at, simple in enumerate(found) if _passes_on(simple.words)), default=-1)


def _passes_on(words: Sequence[str]) -> bool:
    if not words:
        return False
    if name(words) in _ASKS:
        return any("$" in word for word in words)
    return words[0] in _ENDS and not _GOOD.intersection(words[1:2])


def _lenient(words: Sequence[str], *, before: bool) -> bool:
    """Whether the shell goes on behind a command that fails, from this `set` on."""
    for word, value in zip(words[1:], [*words[2:], ""], strict=True):
        if word[:1] in {"-", "+"} and ("e" in word[1:] or value == "errexit"):
            return word.startswith("+")
    return before
