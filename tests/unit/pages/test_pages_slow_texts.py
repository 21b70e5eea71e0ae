"""Texts that take a lexer or a comparison minutes: a separate process handles them within a
deadline.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from markupsafe import escape

from api.pages.format import code, text_process, untrusted
from api.pages.format.text_process import PROGRAM, TextProcess

SLOW = {"code": "(" * 16_384, "lexer": "ng2"}
"""Pygments needs 16 seconds for a token of this text."""
QUICK = {"code": "x = 1", "lexer": "python"}


def children() -> set[int]:
    """The child processes of this process that run the program."""
    listed = Path(f"/proc/self/task/{threading.main_thread().native_id}/children")
    pids = set()
    for pid in map(int, listed.read_text().split()):
        if PROGRAM.name in Path(f"/proc/{pid}/cmdline").read_text():
            pids.add(pid)
    return pids


def started(process: TextProcess) -> int:
    """The pid of the child that this process starts."""
    before = children()
    assert "<span" in process.ask(QUICK, 60)
    (pid,) = children() - before
    return pid


def test_a_late_answer_is_abandoned_and_its_process_ends() -> None:
    process = TextProcess()
    pid = started(process)
    used = time.process_time()
    assert process.ask(SLOW, 0.2) is None
    assert time.process_time() - used < 0.2, "the work is another process's"
    assert not Path(f"/proc/{pid}").exists()
    assert "span" in process.ask(QUICK, 60), "the next text has a new process"


def test_pages_full_of_slow_texts_do_not_occupy_every_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_process, "CREDIT_SECONDS", 0.3)
    monkeypatch.setattr(text_process, "SHARE", 0.0)
    process = TextProcess()
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(process.ask(SLOW, 0.5))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == [None] * 8
    before = children()
    assert process.ask(QUICK, 60) is None
    assert children() == before, "nothing is started for it"


def test_credit_is_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_process, "CREDIT_SECONDS", 0.1)
    process = TextProcess()
    assert process.ask(SLOW, 0.2) is None
    end = time.monotonic() + 60
    while process.ask(QUICK, 60) is None:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_the_kernel_ends_an_abandoned_request() -> None:
    with subprocess.Popen(
        [sys.executable, "-P", str(PROGRAM)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={},
    ) as child:
        assert child.stdin is not None
        child.stdin.write(json.dumps({**SLOW, "seconds": 0.5}).encode() + b"\n")
        child.stdin.flush()
        assert child.wait(60) == -signal.SIGALRM


def test_the_process_has_no_environment_and_ends_with_its_owner() -> None:
    process = TextProcess()
    pid = started(process)
    assert Path(f"/proc/{pid}/environ").read_bytes() == b""
    opened = {str(target.readlink()) for target in Path(f"/proc/{pid}/fd").iterdir()}
    assert all(target.startswith("socket:") or target == "/dev/null" for target in opened)
    del process
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.parametrize(
    "name", ["x.ng2", "x.g4", "x.g", "x.unknown", "x", "lexer.rl", ".py/x.ng2"]
)
def test_a_file_of_another_language_has_no_colours(name: str) -> None:
    text = "(" * 16_384
    assert code.highlight(text, name=name) == escape(text)


@pytest.mark.parametrize("lexer", code.LEXERS)
def test_every_listed_language_has_colours(lexer: str) -> None:
    text = '# a\n<a b="c">\n[x]\nx = 1;\n{"a": 1}\nSELECT 1\n'
    assert "<span" in code.highlight(text, lexer)
    for name in code.LEXERS[lexer]:
        assert code.lexer_of(f"src/x{name}" if name.startswith(".") else f"src/{name}") == lexer


def test_a_slow_comparison_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = code.MAX_COMPARED_LINES
    old = [str(number % 100) for number in range(lines)]
    new = [part for number in range(lines // 2) for part in (str(number % 100), f"u{number}")]
    monkeypatch.setattr(code, "COMPARE_SECONDS", 0.5)
    used = time.process_time()
    assert code.compare_lines(old, new) is None
    assert time.process_time() - used < 0.5, "the work is another process's"


PARTS = ["[", "![", "[a](", "*a_", "`", "> ", "- ", "a|b\n-|-\n", "[a][", "***", "<a", "&#", "\\["]


@pytest.mark.parametrize("part", PARTS)
def test_markdown_is_rendered_in_linear_time(part: str) -> None:
    def seconds(length: int) -> float:
        text = part * (length // len(part))
        begin = time.process_time()
        untrusted.prose(text)
        return time.process_time() - begin

    untrusted.prose("")
    short, long = (
        seconds(untrusted.MAX_CHARACTERS // 8),
        min(seconds(untrusted.MAX_CHARACTERS) for _ in range(2)),
    )
    assert long < 0.2 or long / short < 24, "eight times the text"
