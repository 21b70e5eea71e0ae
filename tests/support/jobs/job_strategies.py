"""Hypothesis strategies for the records of `jobs`: every field of a record, by its annotation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from jobs.model.events import NewEvent
from jobs.model.record import GraphFormat, JobRecord
from jobs.model.review import Review

texts = st.text(max_size=20)
"""Text without lone surrogates, which can be encoded as UTF-8."""
times = st.integers(1, 2**40)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
data = st.dictionaries(texts, values | texts, max_size=4)
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    str: texts,
    int: times,
    GraphFormat: st.builds(GraphFormat, st.integers(0, 99), st.sampled_from(["", "1.2.3"])),
}


@cache
def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Values of an annotated type."""
    args = get_args(hint)
    if hint in PLAIN:
        return PLAIN[hint]
    if is_dataclass(hint):
        return instances_of(hint)
    if get_origin(hint) is tuple:
        return st.lists(values_of(args[0]), max_size=2).map(tuple)
    if get_origin(hint) is Mapping:
        return data if Any in args else st.dictionaries(*map(values_of, args), max_size=2)
    return st.one_of(*map(values_of, args)) if args else st.from_type(hint)


def instances_of(kind: Any, **strategies: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Instances with any value in every field; `strategies` replaces the strategy of a field."""
    hints = get_type_hints(kind)
    derived = {
        each.name: values_of(hints[each.name])
        for each in fields(kind)
        if each.name not in strategies
    }
    return st.builds(kind, **derived, **strategies)


reviews = instances_of(Review)
events = instances_of(NewEvent)


def _leased(record: JobRecord) -> JobRecord:
    """The lease ends at the time when the job is due."""
    return replace(record, lease=record.lease and replace(record.lease, until=record.due_at))


digests = st.none() | st.text("0123456789abcdef", min_size=64, max_size=64)
records = instances_of(JobRecord, workspace=digests, start=digests).map(_leased)
