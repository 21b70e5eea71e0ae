"""Fail points that the front has: its settings take them, production does not."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from settings.api import ApiSettings


@pytest.mark.parametrize("done", ["accept", "decision", "cancel", "hint"])
def test_every_point_can_be_set_but_in_production(
    monkeypatch: pytest.MonkeyPatch, done: str
) -> None:
    monkeypatch.setenv("FETTLE_FAIL_POINT", f"after_{done}:3")
    assert ApiSettings().fail_point == f"after_{done}:3"
    monkeypatch.setenv("FETTLE_ENV", "production")
    with pytest.raises(ValidationError, match="no place in production"):
        ApiSettings()
