"""The words by which a search finds a job. Pure.

A job is found by the words of its task, its labels and its id. It matches a query where each word
of the query begins one of the job's words; a single letter must be the whole word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from jobs.model.record import JobRecord

MOST_OF_A_JOB = 64
MOST_ASKED = 8
LONGEST = 32
READ = 8_000
"""Characters of a task that are looked at: what it is about stands at its beginning."""
_WORD = re.compile(r"[^\W_]+")


def of(record: JobRecord) -> tuple[str, ...]:
    """A job's words, its id first: so many at most, each so long at most."""
    spec = record.spec
    texts = (record.id, *spec.labels, spec.task[:READ])
    return _first(MOST_OF_A_JOB, (word for text in texts for word in _words(text)))


def asked(text: str) -> tuple[str, ...]:
    """The words of a search; none where there is nothing to look for."""
    return _first(MOST_ASKED, _words(text))


def found(record: JobRecord, search: Sequence[str]) -> bool:
    """Whether a job is found by the words of a search."""
    own = of(record)
    return all(any(begins(word, wanted) for word in own) for wanted in search)


def begins(word: str, wanted: str) -> bool:
    """Whether a searched word stands for this one."""
    return word == wanted or (len(wanted) > 1 and word.startswith(wanted))


def _words(text: str) -> Iterable[str]:
    plain = unicodedata.normalize("NFKC", text).casefold()
    return (word[:LONGEST] for word in _WORD.findall(plain))


def _first(most: int, words: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))[:most]
