"""Inline: programs that stand in the call itself, or come from nowhere that is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agents.repair.command_line import COMMAND, SHELLS, commands, is_aside_command, name
from agents.repair.simple_command import split, without_documents

_OTHERS = re.compile(r"-\w*[eE]|-p|--eval|--print|eval")
_GIVEN = {
    **dict.fromkeys((*SHELLS, "python"), COMMAND),
    "php": re.compile(r"-r|--run"),
    **dict.fromkeys(("R", "Rscript", "bun", "deno", "julia", "lua"), _OTHERS),
    **dict.fromkeys(("node", "perl", "ruby"), _OTHERS),
}
"""By an interpreter's name, the word behind which its program stands."""
_FINDS = ("-m", "--test", "--run")
"""With these an interpreter finds what it runs by itself."""


def starts_a_file(text: str) -> bool:
    """Whether a command line runs anything but asides and programs that stand in it: any command is
    taken to run the job's code, named or found, but an interpreter that is given its program."""
    plain = without_documents(text, lambda words: name(words) not in SHELLS)
    fed = {tuple(simple.words) for simple in split(plain) if simple.sources}
    return any(
        not is_aside_command(words) and not is_inline(words, fed=tuple(words) in fed)
        for words in commands(plain)
    )


def is_inline(words: Sequence[str], *, fed: bool = False) -> bool:
    """Whether a command is an interpreter whose program stands in its words, or is its input;
    `fed`: that is a file."""
    given = _GIVEN.get(name(words))
    if given is None:
        return False
    for word in words[1:]:
        if given.fullmatch(word):
            return True
        if word == "-":
            break
        if not word.startswith("-") or word.startswith(_FINDS):
            return False
    return not fed
