"""Command line: the simple commands in what a shell is given, read roughly. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, takewhile

from agents.repair.simple_command import bare, split, substituted, without_documents

_LOOKS = """
    [ awk basename cat cd cmp column cut date df diff dirname du echo file find git grep head jq
    less ls md5sum more nl od printenv printf ps pwd readlink realpath rg sed seq sha256sum sort
    stat strings tail tee test tr tree type uname uniq wc which whoami xxd
"""
_KEEPS_HOUSE = """
    chmod cp export false ln mkdir mktemp mv patch pip pip3 rm rmdir set sleep tar touch true unzip
    zip
"""
_GRAMMAR = """
    : [[ alias break case clear command continue declare done esac exit fi for hash hostname id jobs
    kill let local popd pushd read readonly return shift shopt trap typeset ulimit umask unset wait
    }
"""
ASIDES = frozenset((_LOOKS + _KEEPS_HOUSE + _GRAMMAR).split())
"""What they show is no evidence of the work, and their failure needs no cure: somebody looked."""

_PYTHON = re.compile(r"python[\d.]*$")
_ALSO = {"gawk": "awk", "mawk": "awk", "nawk": "awk", "gsed": "sed", "gmake": "make", "dash": "sh"}
"""Other names of the same commands."""
INTERPRETERS = frozenset({"awk", "jq", "sed"})
"""Commands that run a program which they are given in one of their words."""
_PROGRAM_FILE = re.compile(r"-[nErszujceRSCM]*f|--file\b|--from-file\b")
"""With these they run one of the job's files."""
SHELLS = frozenset({"bash", "sh", "zsh"})
COMMAND = re.compile(r"-\w*c")
"""Behind this stands the program of a shell, and of a Python."""
WRAPPED = 3
"""How deep a shell's text is looked for in a shell's words."""
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
_ONLY_READ = {
    "make": frozenset({"-n", "-p", "-q", "--dry-run", "--just-print", "--question", "--recon"}),
    **dict.fromkeys(SHELLS, frozenset({"-n"})),
}
"""With these a command reads a file of the job's, and does none of what it says."""
_NOTHING: frozenset[str] = frozenset()


def commands(text: str) -> list[Sequence[str]]:
    """The words of each simple command, without settings of the environment, redirections and what
    only stands before a command. The lines of a here-document count as commands, too, but for one
    that an aside is given: `cat > sums.py <<EOF` writes them. What is put into a word comes last:
    `[ "$(python sums.py)" = 3 ]` is a `[` and a `python`. Of `bash -c` and `eval` what they are
    given counts."""
    return [*_commands(text, WRAPPED)]


def _commands(text: str, depth: int) -> Iterator[Sequence[str]]:
    plain = without_documents(text, is_aside_command)
    for simple in (*split(plain), *substituted(plain)):
        words = simple.words
        if not words:
            continue
        inner = wrapped(words) if depth else None
        if inner is None:
            yield words
        else:
            yield from _commands(inner, depth - 1)


def is_aside(text: str) -> bool:
    """Whether all that it does is looking around and keeping house."""
    return all(map(is_aside_command, commands(text)))


def name(words: Sequence[str]) -> str:
    """The command's own name: that of every Python is `python`, of every awk `awk`."""
    own = words[0].rpartition("/")[2] if words[0].startswith("/") else words[0]
    return "python" if _PYTHON.match(own) else _ALSO.get(own, own)


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


def is_aside_command(words: Sequence[str]) -> bool:
    """Whether all that a simple command does is looking around and keeping house."""
    own = name(words)
    if own in INTERPRETERS and any(map(_PROGRAM_FILE.match, words)):
        return False
    if own == "python" and "-m" in words and behind_python(words)[0] in _MODULES:
        return True
    if own == "find":
        started = dropwhile(lambda word: word not in _STARTS, words)
        inner = bare([*started][1:])
        return not inner or (name(inner) != own and is_aside_command(inner))
    return own in ASIDES or _tells(words)


def wrapped(words: Sequence[str]) -> str | None:
    """The command line that `bash -c` or `eval` is given; None where a command is neither."""
    if words[0] == "eval":
        return " ".join(words[1:])
    if name(words) not in SHELLS:
        return None
    for at, word in enumerate(words[1:-1], start=1):
        if COMMAND.fullmatch(word):
            return words[at + 1]
        if not word.startswith(("-", "+")) and words[at - 1] not in {"-o", "+o"}:
            return None
    return None


def _options(words: Sequence[str]) -> Iterator[str]:
    """A command's options, as far as they stand before all else."""
    return takewhile(lambda word: word.startswith("-"), words[1:])


def _tells(words: Sequence[str]) -> bool:
    """Whether it only tells of itself: its version, how it is used, which tests there are."""
    given = behind_python(words)[1:]
    if not _ONLY_READ.get(name(words), _NOTHING).isdisjoint(_options(words)):
        return True
    return only_tells(words) or (bool(given) and _VERSION.issuperset(given))
