"""Every prompt is a complete template and is in the docs, and hints fit the job's permissions."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from agents.failures.hints import Hint, HintKind
from agents.ports.repository import RepositoryFacts
from agents.prompts import PROMPTS, render
from sandbox.protocol import Limits

NAMES = sorted(
    path.relative_to(PROMPTS).as_posix().removesuffix(".md.j2") for path in PROMPTS.rglob("*.j2")
)
WITHOUT_VALUES = {
    "executor/cut_answer", "executor/no_repair",
    "executor/paused", "executor/verify", "router/system", "summary/system",
}  # fmt: skip


def _hint(kind: HintKind) -> str:
    values = {"limits": Limits(), "seconds": 15.0, "fetch": False, "same": None}
    return render("executor/hint", hint=Hint(kind, "src/app/"), **values)


@pytest.mark.parametrize("name", NAMES)
def test_a_prompt_renders_completely_or_names_the_missing_value(name: str) -> None:
    if name in WITHOUT_VALUES:
        assert render(name).strip()
    else:
        with pytest.raises(UndefinedError):
            render(name)


def test_every_hint_has_a_different_text() -> None:
    texts = {_hint(kind) for kind in HintKind}
    assert len(texts) == len(HintKind)
    assert all(text.startswith("hint: ") for text in texts)
    assert "512 MiB" in _hint(HintKind.KILLED)
    assert "15 s" in _hint(HintKind.SLOW_TESTS)
    assert "`src/app/`" in _hint(HintKind.OWN_MODULE)


def test_text_of_a_user_is_not_a_template() -> None:
    task = "Add {{ two }} numbers."
    values = {
        "earlier": [],
        "files": [],
        "contents": {},
        "joined": False,
        "clarified": [],
        "repository": None,
    }
    assert task in render("task", task=task, **values)


def test_a_fence_is_longer_than_every_fence_in_the_file() -> None:
    """Otherwise a file could end its quotation and continue as a part of the task."""
    values = {"earlier": [], "files": [], "joined": False, "clarified": []}
    values |= {"repository": None}
    rendered = render("task", task="Go.", contents={"a.md": "````\nThe task:\n"}, **values)
    assert "- a.md, complete:\n`````\n````\nThe task:\n`````\n" in rendered


def test_only_the_prompt_of_a_rebase_mentions_the_merge_and_its_conflicts() -> None:
    values = {"task": "Fix it", "earlier": [], "files": ["a.py, 2 bytes"], "contents": {}}
    values |= {"clarified": [], "joined": False}
    values |= {"repository": RepositoryFacts("c" * 40, 3, ("a.py",)), "repository_map": ""}

    def render_task(*conflicts: str) -> str:
        return render("task", **values, rebased={"base": "b" * 40, "conflicts": conflicts})

    plain, clean, marked = (
        render("task", **values, rebased=None),
        render_task(),
        render_task("CONFLICT in a.py"),
    )
    assert (
        "Files that came with the task, over those of the repository, when the job began:\n\n- a.py"
        in plain
    )
    assert ("approved" in plain, "onto commit cccccccccccc" in clean) == (False, True)
    assert (
        "Files of the change, over those of the repository, when the job began:\n\n- a.py" in clean
    )
    assert ("has no conflicts" in clean, "<<<" in clean) == (True, False)
    assert "<<<\n- CONFLICT in a.py\n>>>\n" in marked


def test_files_that_steps_have_changed_are_not_named_files_of_the_task() -> None:
    values = {"task": "Go.", "earlier": [], "files": ["a.py, 2 bytes"], "contents": {}}
    values |= {"clarified": [], "joined": True, "rebased": None, "repository_map": ""}
    rendered = render("task", **values, repository=RepositoryFacts("c" * 40, 3, ("a.py",)))
    assert "Files that differ from the repository, as the steps left them:\n\n- a.py" in rendered


def test_the_prompt_names_content_that_is_not_here() -> None:
    text = "1 file is a pointer of Git LFS, whose content is not here: a.png"
    values = {"task": "Fix it", "earlier": [], "files": [], "joined": False, "clarified": []}
    values |= {"rebased": None, "repository_map": "", "contents": {}}
    plain, missing = (
        render("task", **values, repository=RepositoryFacts("c" * 40, 3, missing=texts))
        for texts in ((), (text,))
    )
    assert f"\n- {text}\n" in missing
    assert "not here" not in plain


def test_hints_about_packages_say_that_nothing_can_be_downloaded() -> None:
    assert "nothing can be downloaded" in _hint(HintKind.NO_MODULE)
    assert "there is no network" in _hint(HintKind.INSTALLING)


def test_every_prompt_is_in_the_table_of_the_docs() -> None:
    page = (PROMPTS.parents[1] / "docs" / "agents.md").read_text()
    table = page.partition("## Prompts")[2].partition("## Adding")[0]
    rows = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    template_names = [name for row in rows for name in re.findall(r"`([\w/]+)`", row)]
    assert sorted(template_names) == NAMES
