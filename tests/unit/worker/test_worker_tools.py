"""Which tools a worker offers, by its settings."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from agents.errors import ToolRefused
from agents.tools.registry import TOOLS
from agents.tools.trace import of_use
from settings.tools import ToolSettings
from worker.adapters.tools import GROUP, ToolUnfit, guard_plugin, plugins, tools

USUAL = [body.__name__ for body in TOOLS]
PLUGIN = '''
async def shout(text, runtime):
    """Say it loudly."""


async def whisper(text, runtime):
    pass


def late(runtime):
    """No coroutine."""


not_a_function = 3
'''
TRACE = of_use("erring", None, ok=True)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[EntryPoint]:
    (tmp_path / "my_fettle_tools.py").write_text(PLUGIN)
    (tmp_path / "broken_fettle_tools.py").write_text("import nothing_at_all\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_fettle_tools", raising=False)
    names = ("shout", "whisper", "late", "not_a_function", "missing")
    entry_points = [EntryPoint(name, f"my_fettle_tools:{name}", GROUP) for name in names]
    return [
        *entry_points,
        EntryPoint("loud", "my_fettle_tools:shout", GROUP),
        EntryPoint("broken", "broken_fettle_tools:broken", GROUP),
    ]


def test_fetch_is_not_offered_until_hosts_are_named() -> None:
    assert [body.__name__ for body in tools(ToolSettings())] == USUAL
    settings = ToolSettings(fetch_hosts=("docs.example.org", "*.example.net"))
    assert [body.__name__ for body in tools(settings)] == [*USUAL, "fetch"]


def test_the_empty_values_of_compose_count_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TOOLS", "FETCH_HOSTS"):
        monkeypatch.setenv(f"FETTLE_{name}", "")
    assert tools(ToolSettings()) == TOOLS


async def test_a_named_plugin_is_offered(installed: list[EntryPoint]) -> None:
    (body,) = plugins(["shout"], installed)
    assert body.__name__ == "shout"
    with pytest.raises(ToolRefused, match="the tool shout failed"), capture_logs():
        await body("hello", runtime=None)  # it returns no text
    assert plugins([], installed) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere", "no tool 'nowhere' is installed; there are: broken, late, loud"),
        ("broken", "'broken' does not load: No module named 'nothing_at_all'"),
        ("late", "no async function that takes `runtime`"),
        ("whisper", "needs that name and a docstring"),
    ],
)
def test_an_invalid_plugin_stops_the_worker(
    installed: list[EntryPoint], name: str, words: str
) -> None:
    with pytest.raises(ToolUnfit) as unfit:
        plugins([name], installed)
    assert words in str(unfit.value)


async def erring(of: BaseException) -> Any:
    """Raise the exception."""
    raise of


async def answering(answer: Any) -> Any:
    """Return the answer."""
    return answer


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("x"), RecursionError()], ids=repr)
async def test_the_failure_of_a_plugin_is_reported_to_the_model(error: Exception) -> None:
    with pytest.raises(ToolRefused) as refused, capture_logs() as logs:
        await guard_plugin(erring)(of=error)
    assert str(refused.value) == f"the tool erring failed ({type(error).__name__})"
    assert [(log["event"], log["tool"]) for log in logs] == [("tool failed", "erring")]


@pytest.mark.parametrize("answer", ["text", ("text", None), (3, TRACE), ("text", {"kind": "x"})])
async def test_an_invalid_answer_of_a_plugin(answer: Any) -> None:
    with pytest.raises(ToolRefused, match="the tool answering failed"), capture_logs():
        await guard_plugin(answering)(answer=answer)
    assert await guard_plugin(answering)(answer=("text", TRACE)) == ("text", TRACE)
