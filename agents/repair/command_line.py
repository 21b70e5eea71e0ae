"""Command line: the simple commands in what a shell is given, read roughly. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import dropwhile

_LOOKS = """
    [ awk basename cat cd cmp column cut date df diff dirname du echo file find git grep head jq
    less ls md5sum more nl od printenv printf ps pwd readlink realpath rg sed seq sha256sum sort
    stat strings tail tee test tr tree type uname uniq wc which whoami xxd
"""
_KEEPS_HOUSE = """
    chmod cp export false ln mkdir mktemp mv pip pip3 rm rmdir set sleep source tar touch true unzip
    zip
"""
_GRAMMAR = ": [[ break case command continue done esac exit fi for popd pushd read return }"
ASIDES = frozenset((_LOOKS + _KEEPS_HOUSE + _GRAMMAR).split())
"""What they show is no evidence of the work, and their failure needs no cure: somebody looked."""

_STOPS = ";|&()\n"
_SPLIT = re.compile(rf"[{re.escape(_STOPS)}]+")
_PREFIXES = "! { do else exec if nohup sudo then time until while"
_BEFORE = frozenset(_PREFIXES.split())
_STARTERS = frozenset({"command", "env", "xargs"})
_SETTING = re.compile(r"\w+=")
_PYTHON = re.compile(r"python[\d.]*$")
_ASKS = frozenset({"-v", "-V"})
"""With these `command` tells where a command is, and starts none."""
_INTERPRETERS = frozenset({"awk", "jq", "sed"})
_PROGRAM_FILE = frozenset({"-f", "--file", "--from-file"})
"""With these they run a program of the job's."""
_DOCUMENT = re.compile(
    r"(?P<before>.*?)(?<!<)<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)(?P<behind>.*)"
)
"""A line that opens a here-document."""
_QUOTED = re.compile(r"\\.|'[^']*'|\"(?P<double>(?:[^\"\\]++|\\.)*+)\"", re.DOTALL)
_SUBSTITUTION = re.compile(
    r"(?<!\\)(?:\$\((?!\()[\s(]*(?P<command>(?:[^()`$]++|\$(?!\())*+)|`(?P<old>[^`]*)`)"
)
"""What a shell starts to put its output into a word, by its beginning; `$((` only counts."""
_STARTS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
"""With these find starts a command."""
_MODULES = frozenset(
    ["ast", "compileall", "dis", "json.tool", "pip", "py_compile", "tabnanny", "tokenize", "venv"]
)
"""Modules that, as commands, look and keep house: none of them runs what it is given."""
_VERSION = frozenset({"--version", "-V", "-VV", "--help", "-h"})
_PYTEST = frozenset({"pytest", "py.test"})
_NO_TESTS = _VERSION | {
    "--co",
    "--collect-only",
    "--fixtures",
    "--fixtures-per-test",
    "--markers",
    "--setup-plan",
}


def commands(text: str) -> list[list[str]]:
    """The words of each simple command, without settings of the environment, redirections and what
    only stands before a command. The lines of a here-document count as commands, too, but for one
    that an aside is given: `cat > sums.py <<EOF` writes them. What is put into a word comes last:
    `[ "$(python sums.py)" = 3 ]` is a `[` and a `python`."""
    plain = _without_documents(text)
    found = (_bare(words) for words in (*_split(plain), *_substituted(plain)))
    return [words for words in found if words and not words[0].startswith("#")]


def is_aside(text: str) -> bool:
    """Whether all that it does is looking around and keeping house."""
    return all(_is_aside(words) for words in commands(text))


def name(words: Sequence[str]) -> str:
    """The command's own name: that of every Python is `python`."""
    own = words[0].rpartition("/")[2] if words[0].startswith("/") else words[0]
    return "python" if _PYTHON.match(own) else own


def behind_python(words: Sequence[str]) -> Sequence[str]:
    """What a Python is told to run, a module or a file, with its arguments; any other command as it
    is."""
    if name(words) == "python":
        for at, word in enumerate(words[1:], start=1):
            if word in {"-m", "-c"} or not word.startswith("-"):
                behind = words[at + 1 :] if word == "-m" else words[at:]
                return behind if behind and word != "-c" else words
    return words


def is_pytest(words: Sequence[str]) -> bool:
    """Whether it is pytest that a command starts."""
    return name(behind_python(words)) in _PYTEST


def only_tells(words: Sequence[str]) -> bool:
    """Whether it is a pytest that tells of tests, and runs none."""
    return is_pytest(words) and not _NO_TESTS.isdisjoint(behind_python(words)[1:])


def _is_aside(words: Sequence[str]) -> bool:
    own = name(words)
    if own in _INTERPRETERS and not _PROGRAM_FILE.isdisjoint(words):
        return False
    if own == "python" and "-m" in words and behind_python(words)[0] in _MODULES:
        return True
    if own == "find":
        started = dropwhile(lambda word: word not in _STARTS, words)
        bare = _bare([*started][1:])
        return not bare or (name(bare) != own and _is_aside(bare))
    return own in ASIDES or _tells(words)


def _without_documents(text: str) -> str:
    """Without the here-documents that asides are given."""
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
            given = [_bare(words) for words in _split(opens["before"])][-1]
            if given and _is_aside(given):
                left.append(opens["before"] + opens["behind"])
                at = end + 1
                continue
        left.extend(lines[at : end + 1])
        at = end + 1
    return "\n".join(left)


def _tells(words: Sequence[str]) -> bool:
    """Whether it only tells of itself: its version, how it is used, which tests there are."""
    given = behind_python(words)[1:]
    return only_tells(words) or (bool(given) and _VERSION.issuperset(given))


def _substituted(text: str) -> Iterator[list[str]]:
    """The commands whose output is put into words, between double quotes or none."""
    unquoted = _QUOTED.sub(lambda quoted: quoted["double"] or " ", text)
    for found in _SUBSTITUTION.finditer(unquoted):
        yield from _split(found["command"] or found["old"] or "")


def _split(text: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=_STOPS + "<>")
    lexer.whitespace, lexer.commenters, lexer.whitespace_split = " \t\r", "", True
    try:
        tokens = list(lexer)
    except ValueError:  # a quote of a comment, or of a text in another language
        yield from (part.split() for part in _SPLIT.split(text))
        return
    words: list[str] = []
    skip = False
    for token in tokens:
        if set(token) <= set(_STOPS + "<>"):
            skip = not set(token).isdisjoint("<>") and "(" not in token  # <( starts a command
            if skip and words and words[-1].isdigit():
                words.pop()  # 2>&1
            if not skip:
                yield words
                words = []
        elif skip:
            skip = False
        else:
            words.append(token)
    yield words


def _bare(words: list[str]) -> list[str]:
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


def _behind_options(words: list[str]) -> list[str]:
    own = (at for at, word in enumerate(words) if at and not word.startswith("-"))
    return words[next(own, len(words)) :]
