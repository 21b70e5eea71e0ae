"""Every test here breaks something. `make faults` runs them all, `make test` those marked quick."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.processes.scene import Scene, a_scene

HERE = Path(__file__).parent


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the long ones, unless this folder, a file of it or a marker was named."""
    here = [item for item in items if HERE in item.path.parents]
    for item in here:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(300))  # for a machine that does much else
    named = config.args if config.args_source is config.ArgsSource.ARGS else []
    asked = [(config.invocation_params.dir / each.split("::")[0]).resolve() for each in named]
    if config.option.markexpr or any(each == HERE or HERE in each.parents for each in asked):
        return
    left_out = [item for item in here if item.get_closest_marker("quick") is None]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in set(left_out)]


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    """A deployment with its model's server, and no worker yet."""
    async with a_scene(tmp_path) as made:
        yield made
