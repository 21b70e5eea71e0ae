"""Orphans are looked for among processes that end meanwhile."""

from __future__ import annotations

import os
from typing import Any

import pytest

from sandbox.local import orphans


def test_who_ends_while_he_is_looked_at_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    stat = os.stat

    def gone(path: Any, *args: Any, **how: Any) -> os.stat_result:
        if str(path).startswith("/proc/") and str(path).endswith("/status"):
            raise ProcessLookupError(path)
        return stat(path, *args, **how)

    monkeypatch.setattr(os, "stat", gone)
    orphans.end()
