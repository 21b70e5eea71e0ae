"""Saving figures where there is nothing to save; that they are saved is the contract suite's."""

from __future__ import annotations

import time
from pathlib import Path

from sandbox.zygote import plot_capture


def test_without_pyplot_there_is_nothing_to_save(tmp_path: Path) -> None:
    plot_capture.save(str(tmp_path), time.time())
    assert not list(tmp_path.iterdir())
