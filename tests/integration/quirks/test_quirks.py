"""Each quirk of a model server: a small job has the outcome that the row says. See README.md."""

from __future__ import annotations

from pathlib import Path

import pytest
from integration.quirks.not_yet import NOT_YET
from integration.quirks.table import REPEATED, ROWS
from support.quirks.job import problems, run_row


@pytest.mark.matrix(every=10)
@pytest.mark.parametrize("name", list(ROWS))
async def test_a_job_has_the_outcome_of_its_row(name: str, tmp_path: Path) -> None:
    row = ROWS[name]
    faults = problems(row, await run_row(row, tmp_path))
    if name in NOT_YET:
        assert faults, f"it ends as expected: remove {name!r} from NOT_YET"
    else:
        assert not faults, "\n".join(faults)


def test_no_id_is_used_twice_and_not_yet_names_rows() -> None:
    assert REPEATED == []
    assert [name for name in NOT_YET if name not in ROWS] == []
