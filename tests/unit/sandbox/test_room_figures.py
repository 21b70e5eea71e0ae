"""What saving a run's open figures may take of it; that they are saved is the contract suite's."""

from __future__ import annotations

import time
from pathlib import Path

from sandbox.protocol import MIB
from sandbox.room import figures


def test_a_run_with_time_left_gives_some_of_it() -> None:
    assert figures.Rest(60.0, 512 * MIB).seconds() == figures.MOST_SECONDS
    assert 0.5 < figures.Rest(4.0, 512 * MIB).seconds() <= 1.0


def test_near_the_end_of_time_or_memory_nothing_is_tried() -> None:
    assert figures.Rest(0.9, 512 * MIB).seconds() < figures.LEAST_SECONDS
    assert figures.Rest(60.0, 16 * MIB).bytes() < figures.NEEDED_BYTES
    assert figures.Rest(60.0, 2048 * MIB).bytes() > figures.NEEDED_BYTES


def test_a_picture_of_before_is_none_that_the_program_wrote(tmp_path: Path) -> None:
    before = tmp_path / "before.png"
    before.touch()
    time.sleep(0.02)  # a file's time is that of a clock's last tick
    rest = figures.Rest(60.0, 512 * MIB)
    time.sleep(0.02)
    after = tmp_path / "after.png"
    after.touch()
    assert [rest.has_seen(str(each)) for each in (before, after)] == [False, True]


def test_without_pyplot_there_is_nothing_to_save() -> None:
    figures.save(figures.Rest(60.0, 512 * MIB))
