"""Simple command: one of those that a shell's text is made of, read roughly. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

_STOPS = ";|&()\n"
_SPLIT = re.compile(rf"[{re.escape(_STOPS)}]+")
_CONDITIONS = frozenset({"!", "elif", "if", "until", "while"})
_PREFIXES = "{ do else exec nohup sudo then time"
_BEFORE = _CONDITIONS | frozenset(_PREFIXES.split())
_STARTERS = frozenset({"command", "env", "xargs"})
_SETTING = re.compile(r"\w+=")
_ASKS = frozenset({"-v", "-V"})
"""With these `command` tells where a command is, and starts none."""
_DOCUMENT = re.compile(
    r"(?P<before>.*?)(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<behind>.*)"
)
"""A line that opens a here-document."""
_QUOTED = re.compile(r"\\.|'[^']*'|\"(?P<double>(?:[^\"\\]++|\\.)*+)\"", re.DOTALL)
_COMMENT = re.compile(rf"(?P<quoted>{_QUOTED.pattern})|(?<![^\s;&|()])#[^\n]*", re.DOTALL)
_SUBSTITUTION = re.compile(
    r"(?<!\\)(?:\$\((?!\()[\s(]*(?P<command>(?:[^()`$]++|\$(?!\())*+)|`(?P<old>[^`]*)`)"
)
"""What a shell starts to put its output into a word, by its beginning; `$((` only counts."""


@dataclass(frozen=True, slots=True)
class Simple:
    """`given` are its words as they stand, without redirections; `targets` the files that it is
    redirected into; `operator` is what stands behind it (`&&`, `|`, `;`, ...), empty at the end or
    where that is not known. `sources` are the files that it reads as its input."""

    given: Sequence[str]
    targets: Sequence[str] = ()
    operator: str = ""
    sources: Sequence[str] = ()

    @property
    def words(self) -> Sequence[str]:
        """Its own words: without settings of the environment and what stands before a command."""
        return bare(self.given)

    @property
    def is_condition(self) -> bool:
        """Whether its exit code decides what follows, and ends nothing."""
        before = self.given[: len(self.given) - len(self.words)]
        return not _CONDITIONS.isdisjoint(before)


def split(text: str) -> Iterator[Simple]:
    """The simple commands of a text without here-documents; some have no words."""
    text = _uncommented(text)
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=_STOPS + "<>")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        tokens = list(lexer)
    except ValueError:  # a quote of a text in another language
        yield from (Simple(part.split()) for part in _SPLIT.split(text))
        return
    words: list[str] = []
    targets: list[str] = []
    sources: list[str] = []
    into = ""
    for token in tokens:
        if token and set(token) <= set(_STOPS + "<>"):
            # <( starts a command
            into = token if not set(token).isdisjoint("<>") and "(" not in token else ""
            if into and words and words[-1].isdigit():
                words.pop()  # 2>&1
            if not into:
                yield Simple(words, targets, token.strip("\n") or ";", sources)
                words, targets, sources = [], [], []
        elif into:
            targets += [token] if ">" in into else []
            sources += [token] if into == "<" else []
            into = ""
        else:
            words.append(token)
    yield Simple(words, targets, sources=sources)


def substituted(text: str) -> Iterator[Simple]:
    """The commands whose output is put into words, between double quotes or none."""
    unquoted = _QUOTED.sub(lambda quoted: quoted["double"] or " ", _uncommented(text))
    for found in _SUBSTITUTION.finditer(unquoted):
        yield from split(found["command"] or found["old"] or "")


def without_documents(text: str, dropped: Callable[[Sequence[str]], bool]) -> str:
    """Without the here-documents of commands that are to be `dropped`, by their words."""
    lines = text.split("\n")
    last = {line.strip(): at for at, line in enumerate(lines)}
    left: list[str] = []
    at = 0
    while at < len(lines):
        opens = _DOCUMENT.fullmatch(lines[at])
        end = at
        if opens and last.get(opens["end"], -1) > at:
            behind = range(at + 1, len(lines))
            end = next(line for line in behind if lines[line].strip() == opens["end"])
            *_, given = split(opens["before"])
            if given.words and dropped(given.words):
                left.append(opens["before"] + opens["behind"])
                at = end + 1
                continue
        left.extend(lines[at : end + 1])
        at = end + 1
    return "\n".join(left)


def _uncommented(text: str) -> str:
    return _COMMENT.sub(lambda found: found["quoted"] or "", text)


def path_of(word: str) -> str:
    """The file that a word names, by its path from the working directory."""
    return word.removeprefix("/work/").removeprefix("./")


def bare(words: Sequence[str]) -> Sequence[str]:
    """A command's own words, without what only stands before it."""
    while words:
        if words[0] == "timeout":
            words = _behind_options(words)[1:]
        elif words[0] in _STARTERS and not (words[0] == "command" and _ASKS & {*words[1:2]}):
            words = _behind_options(words)
        elif words[0] in _BEFORE or _SETTING.match(words[0]):
            words = words[1:]
        else:
            break
    return words


def _behind_options(words: Sequence[str]) -> Sequence[str]:
    own = (at for at, word in enumerate(words) if at and not word.startswith("-"))
    return words[next(own, len(words)) :]
