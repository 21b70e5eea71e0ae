"""Regular expressions take a time that is proportional to their input, for any input."""

from __future__ import annotations

import pytest
from support.cases.pattern_growth import Use
from support.cases.product_patterns import VARIABLE, product_patterns

PRODUCT = product_patterns()
PATTERN_ARGUMENTS = {
    "jobs/view/attention.py": "the tables' patterns of names and paths",
    "jobs/view/attention_lines.py": "the tables' patterns, which read at most 2,000 characters",
    "cli/commands/jobs/run.py": "the user's pattern, which is only compiled",
    "agents/models/capabilities/wordings.py": "the names of a request's fields, with bounded gaps",
    "agents/models/replies/text_forms.py": "the patterns of calls and of thoughts in texts",
    "agents/runs/shell_marks.py": "the mark of one run, which is escaped, before bounded parts",
    "agents/sandbox_programs/searching.py": "the model's pattern, in a sandbox with limits",
    "worker/repositories/errors.py": "the table's patterns, which are in the list themselves",
}
"""The files with a pattern that is an argument."""


def has_variable(use: Use) -> bool:
    return VARIABLE in str(use.pattern)


def test_every_pattern_is_known() -> None:
    assert len(PRODUCT) > 100
    assert {use.location.partition(":")[0] for use in PRODUCT if has_variable(use)} == set(
        PATTERN_ARGUMENTS
    )


@pytest.mark.matrix(every=4)
@pytest.mark.parametrize(
    "use",
    [use for use in PRODUCT if not has_variable(use)],
    ids=lambda use: f"{use.location}-{use.method}",
)
def test_a_pattern_is_linear(use: Use) -> None:
    assert use.growth() is None, str(use)


@pytest.mark.matrix(every=4)
@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (r"\s+$", "sub"),
        (r"(a+)+$", "search"),
        (r"^\s*\n\s*x", "search"),
        (r"(?s)BEGIN .*? END", "sub"),
        (r"([^/:@]+@[^/:@]+):/*(.+)", "fullmatch"),
        (r"(x+x+)+y", "match"),
        (rb"(\d+(?:\.\d+)+)", "search"),
        (r"<(\w+\s*)*>", "match"),
    ],
)
def test_a_pattern_that_backtracks_is_found(pattern: str | bytes, method: str) -> None:
    assert Use("test", pattern, 0, method).growth(seconds=2) is not None


@pytest.mark.parametrize(
    ("pattern", "method"),
    [(r"\s+", "sub"), (r"^\s+x", "match"), (r"[a-z]+@[a-z]+", "fullmatch"), (r"a|b|c", "findall")],
)
def test_a_linear_pattern_is_not_reported(pattern: str, method: str) -> None:
    assert Use("test", pattern, 0, method).growth() is None
