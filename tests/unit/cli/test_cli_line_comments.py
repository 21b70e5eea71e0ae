"""Comments on lines of a patch in a terminal: how they are written, parsed and shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.line_comments import parse, split, write_comments
from cli.follow import review_prompt
from cli.output import Screen
from cli.render.parts import Code, Line, Prose
from cli.render.review import REVIEW_DETAIL
from cli.render.review_events import decision_parts
from fettle.errors import ApiError

texts = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1)
words = texts.map(str.strip).filter(bool)
paths = words.filter(lambda path: ":" not in path)


@given(
    paths,
    st.integers(1, 10**9 - 1),
    st.sampled_from(["old", "new"]),
    st.lists(words, min_size=1, max_size=3).map("\n".join),
)
def test_a_written_comment_is_parsed(path, line, side, text):
    comment = {"path": path, "line": line, "side": side, "text": text}
    written = write_comments([comment, comment]).replace(f"\n{path}:", f"\0{path}:")
    first, second = written.replace("\n", "\n  ").split("\0")
    assert list(map(parse, split(f"{first}\n\n{second}\n"))) == [comment, comment]


@pytest.mark.parametrize("text", ["", "a.py", "a.py:x: y", "a.py:0: y", "a.py:1:", ":1: y"])
def test_other_text_is_not_a_comment(text):
    assert parse(text) is None


def test_a_comment_is_shown_with_its_line_and_its_position():
    comment = {"path": "a.py", "line": 2, "side": "old", "text": "Why?", "at": 0}
    comment |= {"excerpt": ["-A = 1\x1b[2J"], "base": 2}
    decided = {"action": "revise", "by": "ada", "feedback": "", "override": False}
    for stands, state in (
        ({}, "a.py:-2"),
        ({"outdated": False, "now": 2}, "a.py:-2: the line is as it was"),
        ({"outdated": True, "now": None}, "a.py:-2: the line has changed"),
    ):
        parts = list(
            decision_parts({**decided, "comments": [{**comment, **stands}]}, REVIEW_DETAIL)
        )
        assert [part.text for part in parts if isinstance(part, Line)] == ["revise, by ada", state]
        assert [part.text for part in parts if isinstance(part, Code)] == ["-A = 1\\x1b[2J"]
        assert [part.text for part in parts if isinstance(part, Prose)] == ["Why?"]


class Tiny:
    """A service that accepts every decision."""

    decision = None

    def decide(self, _job_id, decision):
        self.decision = decision


@pytest.mark.parametrize("work", [{"patch": {"files": 1}}, {"artifacts": [{"name": "a.py"}]}])
def test_the_prompt_asks_for_comments_if_files_are_changed(monkeypatch, capsys, work):
    typed = ["revise", "Nearly.", "no comment", "a.py:2: Why?", ""]
    monkeypatch.setattr(review_prompt, "ask_line", lambda _question: typed.pop(0))
    monkeypatch.setattr(review_prompt, "show", lambda *_: None)
    service = Tiny()
    review = {"id": "r1", "digest": "d", "kind": "review", "payload": work}
    review_prompt.ask(service, {"id": "j1", "spec": {}, "review": review}, Screen())
    assert typed == []
    assert service.decision["feedback"] == "Nearly."
    (comment,) = service.decision["comments"]
    assert comment == {"path": "a.py", "line": 2, "side": "new", "text": "Why?"}
    assert "please PATH:LINE: TEXT" in capsys.readouterr().out


class Work(Tiny):
    """A service with the files of a job."""

    def __init__(self, **files):
        self.files = {path.replace("_", "."): text.encode() for path, text in files.items()}

    def file(self, _job_id, path):
        if path not in self.files:
            raise ApiError({"status": 404, "title": "Not found", "detail": "no such file"})
        return self.files[path]


@pytest.fixture
def editor(monkeypatch, tmp_path):
    """An editor that replaces 1 by 2 in a file."""
    script = tmp_path / "editor"
    script.write_text('#!/bin/sh\nsed -i s/1/2/ "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))


@pytest.mark.usefixtures("editor")
def test_the_prompt_edits_files_of_the_work(monkeypatch, capsys, tmp_path):
    (tmp_path / "new.py").write_text("NEW = 1\n")
    new = f"new.py={tmp_path}/new.py"
    typed = ["edit", "none.py", "same.py", "a.py", new, "old.py=", "b.bin", ""]
    monkeypatch.setattr(review_prompt, "ask_line", lambda _question: typed.pop(0))
    monkeypatch.setattr(review_prompt, "show", lambda *_: None)
    service = Work(a_py="A = 1\r\n", same_py="S = 3\n", b_bin="1\0")
    review = {"id": "r1", "digest": "d", "kind": "review", "payload": {}}
    review_prompt.ask(service, {"id": "j1", "spec": {}, "review": review, "runs": []}, Screen())
    files = {"a.py": "A = 2\r\n", "new.py": "NEW = 1\n", "old.py": None}
    decision = {"action": "edit", "files": files, "review_id": "r1", "digest": "d"}
    assert service.decision == decision
    shown = capsys.readouterr().out
    for problem in ("no such file", "the editor did not change same.py", "not UTF-8 text"):
        assert problem in shown


@pytest.mark.usefixtures("editor")
@pytest.mark.parametrize("saves", [True, False])
def test_the_prompt_edits_a_program_if_no_file_is_named(monkeypatch, saves):
    typed = ["edit", "", "approve"]
    monkeypatch.setattr(review_prompt, "ask_line", lambda _question: typed.pop(0))
    monkeypatch.setattr(review_prompt, "show", lambda *_: None)
    if not saves:
        monkeypatch.setenv("VISUAL", "true")
    service = Tiny()
    review = {"id": "r1", "digest": "d", "kind": "review", "payload": {}}
    runs = [{"code": {"text": "print(1)", "digest": None}}]
    review_prompt.ask(service, {"id": "j1", "spec": {}, "review": review, "runs": runs}, Screen())
    decided = (service.decision["action"], service.decision.get("code"))
    assert decided == (("edit", "print(2)\n") if saves else ("approve", None))


def test_the_prompt_asks_for_the_remark_that_a_review_rule_requires(monkeypatch):
    typed = ["approve", "I have read it."]
    monkeypatch.setattr(review_prompt, "ask_line", lambda _question: typed.pop(0))
    monkeypatch.setattr(review_prompt, "show", lambda *_: None)
    service = Tiny()
    review = {"id": "r1", "digest": "d", "kind": "review", "payload": {}}
    spec = {"review_rules": {"names": ["payments"], "approvers": [], "remark": True}}
    review_prompt.ask(service, {"id": "j1", "spec": spec, "review": review}, Screen())
    assert (service.decision["action"], service.decision["feedback"]) == (
        "approve",
        "I have read it.",
    )
