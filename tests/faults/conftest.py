"""These tests break the processes of a deployment. `make faults` runs them; `make test`
does not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes.scene import Scene, a_scene

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test enough time on a machine with other work."""
    for item in items:
        if HERE in item.path.parents and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A deployment with its model's server, but without workers."""
    async with a_scene(tmp_path) as new_scene:
        yield new_scene
