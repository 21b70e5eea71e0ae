"""The worked example of docs/tools.md, as its reader would follow it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from support.graph.graphs import PlannedSandbox, call
from support.graph.tool_runs import use

from agents.tools.registry import TOOLS
from settings.tools import ToolSettings
from worker.adapters.tools import GROUP, tools

PAGE = (Path(__file__).parents[3] / "docs" / "tools.md").read_text()


def block(title: str) -> str:
    match = re.search(rf"```\w+ title={re.escape(title)}\n(.*?)```", PAGE, re.DOTALL)
    assert match is not None
    return match[1]


async def test_the_worked_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tomllib.loads(block("pyproject.toml"))["project"]
    info = tmp_path / "our_tools-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: 1.0\n"
    )
    entry_points = (f"{name} = {target}" for name, target in project["entry-points"][GROUP].items())
    (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *entry_points]) + "\n")
    (tmp_path / "line_count.py").write_text(block("line_count.py"))
    monkeypatch.syspath_prepend(tmp_path)
    setting = re.search(r"FETTLE_TOOLS=(\S+)", PAGE)
    assert setting is not None
    monkeypatch.setenv("FETTLE_TOOLS", setting[1])
    offered = tools(ToolSettings())
    used = await use(
        tmp_path / "recording",
        PlannedSandbox({}),
        call("line_count", path="notes.txt"),
        call("line_count", path="notes.txt", at_least=9),
        call("line_count", path="none.txt"),
        call("line_count", path="notes.txt", at_least=-1),
        files={"notes.txt": b"a\nb\nc\n"},
        tools=offered[len(TOOLS) :],
    )
    assert used.texts == [
        block("answer").strip(),
        "error: 'notes.txt' has only 3 lines",
        "error: there is no file 'none.txt'; list_dir shows the files",
        (
            "error: the arguments of line_count do not fit: at_least: Input should be greater "
            "than or equal to 0. Call it again."
        ),
    ]


def test_the_table_has_every_tool() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert rows == [*(body.__name__ for body in TOOLS), "fetch", "SERVER__TOOL"]
