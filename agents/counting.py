"""Counting: which runs are evidence of a job's work. Pure.

A run counts where it has executed some of the job's own code, or made what the job hands over. The
job's own code is the source files that it has written: started, imported, tested, compiled or fed
to their interpreter (`python a.py`, `bash a.sh`, `make`, `awk -f a.awk`, `sqlite3 a.db < a.sql`);
where it has written none, the program in the call itself. What a command that names no file starts
(`tox`, `./run`) nobody can tell: it counts, but for an interpreter that is given its program. A
command that computes (`awk`, `jq`, `sort`) and leaves data has made that, where there is no code.
What only looks or keeps house shows nothing, nor does a run that writes code and does not execute
any, nor a command line that changes code behind the last program that it has run, or that hides how
its programs end.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agents.repair.behind import edits_behind
from agents.repair.command_line import INTERPRETERS, commands, name
from agents.repair.cure import hides
from agents.repair.inline import starts_a_file
from agents.repair.simple_command import without_documents
from agents.repair.source_file import is_source, names_of
from agents.repair.subject import only_looked, subject
from agents.runs import EXECUTOR
from agents.state import Run, text_in

_OTHERS = "column comm cut grep join paste sort tr uniq wc"
_COMPUTES = INTERPRETERS | frozenset(_OTHERS.split())
"""Asides whose output is their own work, and no copy."""
_DYNAMIC = re.compile(
    r"\b(?:subprocess|runpy|os\.system|popen|exec|importlib|__import__|pytest|unittest|glob)\b"
)
_LOADS = re.compile(r"\b(?:importlib|__import__|popen|pytest\.main)\b")
"""What a program that has written code executes it by, for certain."""
_SAYS = re.compile(r"\bprint\(\s*[bfr]?(?:\"[^\"\n]*\"|'[^'\n]*')")
_ANY = re.compile(r"[*$]|\{\}")
"""A shell puts names in place of these."""
_TEXTS = re.compile(r"([rbf]{0,2})(\"\"\"|''')(?:(?!\2)[^\\]|\\.)*+\2", re.DOTALL | re.IGNORECASE)
"""Where a program holds the text of another."""
_WORD = re.compile(r"\w+")


def counts(run: Run, made: Collection[str], brought: Collection[str] = ()) -> bool:
    """Whether a run is evidence, given the files that the job has `made` and those that it was
    `brought`, by which it may have executed these. How it ended is not asked, nor whether the files
    are still the same."""
    if run.get("by", EXECUTOR) != EXECUTOR:
        return True  # a person's own code is what they look at
    source = frozenset(filter(is_source, made))
    source |= {*filter(is_source, brought)} if source else set()
    match run.get("tool", "python"):
        case "python":
            return not source or _is_long(run) or _executes(run, source)
        case "shell":
            return _line_counts(run, source)
        case _:
            return not only_looked(run)


def computes(run: Run) -> bool:
    """Whether a command line holds a program of its own in a word (`awk '{ print $1 }'`): the work
    itself, where that is all there is."""
    found = commands(text_in(run, "code")) if run.get("tool", "python") == "shell" else ()
    return any(name(words) in INTERPRETERS for words in found)


def _line_counts(run: Run, source: frozenset[str]) -> bool:
    if only_looked(run):
        return not source and bool(run.get("artifacts")) and _computes_any(run)
    if hides(run):
        return False
    return not source or _is_long(run) or _executes(run, source)


def _executes(run: Run, source: frozenset[str]) -> bool:
    """Whether it names, and so may have executed, some of the job's code. Of a run that has itself
    written code more is asked: to write is to name, too."""
    text = text_in(run, "code")
    if _wrote(run, source):
        return _uses(run, source) and not outdates_itself(run)
    words = frozenset(_WORD.findall(text))
    names = frozenset(each for path in source for each in names_of(path))
    return any(_is_named(each, text, words) for each in names) or _finds(run, text)


def _is_named(own: str, text: str, words: frozenset[str]) -> bool:
    """A name that is no single word (`backup-db`) is looked for as it stands."""
    return own in words if _WORD.fullmatch(own) else own in text


def outdates_itself(run: Run) -> bool:
    """Whether a command line has changed code behind the last program that it ran."""
    wrote = _wrote(run, [artifact["name"] for artifact in run.get("artifacts", ())])
    return bool(wrote) and run.get("tool") == "shell" and edits_behind(text_in(run, "code"), wrote)


def _wrote(run: Run, source: Collection[str]) -> set[str]:
    """The source files that a run has written itself."""
    names = {artifact["name"] for artifact in run.get("artifacts", ())}
    return {*filter(is_source, names.intersection(source))}


def _uses(run: Run, source: frozenset[str]) -> bool:
    text = _TEXTS.sub("''", text_in(run, "code"))
    of = subject({**run, "code": {**run["code"], "text": text}}, source)
    shell = run.get("tool") == "shell"
    finds = _finds(run, text) if shell else _takes_up(text, source)
    return finds or bool(of.uses) or of.tests is not None


def _takes_up(text: str, source: frozenset[str]) -> bool:
    """Whether a program that writes code executes it by its name, or names one twice that no import
    could: `open('q.sql', 'w')` and then `execute(open('q.sql').read())`."""
    said = _SAYS.sub("", text)
    others = (path.rpartition("/")[2] for path in source if not path.endswith(".py"))
    return _LOADS.search(text) is not None or any(said.count(own) > 1 for own in others)


def _finds(run: Run, text: str) -> bool:
    """Whether it may have executed files that it does not name."""
    if run.get("tool", "python") == "python":
        return _DYNAMIC.search(text) is not None
    plain = without_documents(text, lambda _: True)
    return _ANY.search(plain) is not None or starts_a_file(text)


def _computes_any(run: Run) -> bool:
    return any(name(words) in _COMPUTES for words in commands(text_in(run, "code")))


def _is_long(run: Run) -> bool:
    """Whether its program is on record with its middle left out."""
    return (run.get("code") or {}).get("digest") is not None
