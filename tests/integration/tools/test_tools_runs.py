"""The tools that run programs, in real sandboxes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.graph.graphs import call
from support.graph.tool_runs import use

from sandbox.local import LocalSandbox
from sandbox.protocol import Limits
from settings.sandbox import sandbox_python

GOOD = b"def test_one():\n    assert 1 + 1 == 2\n"
BAD = b"""import pytest


def test_two():
    assert 1 + 1 == 3, 'sums'


@pytest.mark.skip('later')
def test_three():
    pass
"""
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=2)
    yield local
    await local.close()


async def test_the_exit_code_of_a_shell_decides(tmp_path: Path, sandbox: LocalSandbox) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call("shell", command="echo hello | tr a-z A-Z > out.txt; wc -l < out.txt"),
        call("shell", command="false\necho never"),
        call("shell", command="pytest-of-nowhere --version | tail -n 1; echo done"),
        call("shell", command="sleep 30", timeout_seconds=1),
        call("shell", command="sleep 30", timeout_seconds=0),
        call("shell", command="# nothing"),
        call(
            "shell", command="mkdir .pytest_cache __pycache__; touch .pytest_cache/a __pycache__/b"
        ),
        call("shell", command="echo a\0b"),
    )
    first, second, third, fourth, fifth, *_, last = result.texts
    assert last == "error: a command line has no null characters; printf '\\0' writes one"
    assert first == "exit code 0\n\nstdout:\n1\n\nnew or changed files: out.txt"
    assert second.startswith("exit code 1")
    assert third.startswith("exit code 127")
    assert "command not found" in third
    assert fourth.startswith("stopped: it ran for longer than 1 s")
    assert "timeout_seconds: Input should be greater than or equal to 1" in fifth
    assert [run["tool"] for run in result.runs] == ["shell"] * 6
    assert [run["succeeded"] for run in result.runs] == [True] + [False] * 4 + [True]
    assert [run["id"] for run in result.runs] == ["r1", "r2", "r3", "r4", "r5", "r6"]
    assert result.runs[1]["code"]["text"] == "false\necho never"
    assert [run.get("wall_seconds") for run in result.runs] == [None] * 3 + [1.0] + [None] * 2
    assert await result.files() == {"out.txt": b"HELLO\n"}


async def test_a_verification_shows_counts_failures_and_skipped_tests(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call("verify", paths=["."]),
        call("verify", paths=["test_good.py"]),
        call("verify", paths=["test_bad.py::test_three"]),
        call("verify", command=["pytest", "-q", "-k", "one or three"]),
        call("verify", command="python -m pytest 'test_good.py'"),
        files={"test_good.py": GOOD, "test_bad.py": BAD},
    )
    assert result.texts[0] == (
        "not passed: 1 failed, 1 skipped, 1 passed\n"
        "failed test_bad.py::test_two\n"
        "    test_bad.py:5: in test_two\n"
        "        assert 1 + 1 == 3, 'sums'\n"
        "    E   AssertionError: sums\n"
        "    E   assert (1 + 1) == 3\n"
        "skipped:\n"
        "    test_bad.py::test_three (later)"
    )
    assert "test_one" not in result.texts[0]
    assert result.texts[1] == "passed: 1 passed"
    assert result.texts[2].startswith("not passed: no test has passed: all were skipped")
    assert result.texts[3] == (
        "passed: 1 skipped, 1 passed\nskipped:\n    test_bad.py::test_three (later)"
    )
    assert result.texts[4] == result.texts[1]
    assert [run["succeeded"] for run in result.runs] == [False, True, False, True, True]
    assert {run["tool"] for run in result.runs} == {"verify"}
    assert [run["code"]["text"] for run in result.runs] == [
        "pytest .",
        "pytest test_good.py",
        "pytest test_bad.py::test_three",
        "pytest -q -k 'one or three'",
        "python -m pytest test_good.py",
    ]
    assert result.runs[0]["tests"]["counts"] == {"failed": 1, "skipped": 1, "passed": 1}
    assert set(await result.files()) == {"test_good.py", "test_bad.py"}


async def test_a_program_is_verified_by_its_exit_code(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call("verify", command=["python", "-c", "print(6 * 7)", "$HOME", "a b"]),
        call("verify", command=["python", "-c", "print('all passed'); raise SystemExit(3)"]),
        call("verify", command=["sh", "-c", "false; echo done"]),
        call("verify", command=["no-such-program"]),
        call("verify", command=["python", "-c", "open('out.txt', 'w').write('1')"]),
    )
    assert result.texts[0] == "exit code 0\n\nstdout:\n42"
    assert result.texts[1].startswith("exit code 3\n\nstdout:\nall passed")
    assert [run["succeeded"] for run in result.runs][:3] == [True, False, True]
    assert result.runs[3]["succeeded"] is False
    assert "tests" not in result.runs[0]
    assert result.runs[0]["code"]["text"] == "python -c 'print(6 * 7)' '$HOME' 'a b'"
    assert await result.files() == {"out.txt": b"1"}  # as any run leaves its files


RAISES = b"def test_two():\n    raise TypeError('no')\n"
UNITTEST = (
    b"import unittest\n\n\nclass Tests(unittest.TestCase):\n"
    b"    def test_two(self):\n        self.assertEqual(1 + None, 3)\n"
)


async def test_failed_tests_have_their_class_in_every_form_of_output(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call("verify", command=["pytest", "-qq", "--tb=no", "--no-header", "test_raises.py"]),
        call("verify", command=["pytest", "--no-summary", "test_raises.py"]),
        call("verify", command=["pytest", "--tb=native", "-s", "test_raises.py"]),
        call("verify", command=["python", "-m", "unittest", "unit"]),
        call("verify", command=["sh", "-c", "echo '1 failing'; exit 1"]),
        call("verify", command=["no-such-program"]),
        files={"test_raises.py": RAISES, "unit.py": UNITTEST},
    )
    failures = [run["failure"] for run in result.runs]
    assert [item["class"] for item in failures] == ["test_failure"] * 5 + ["file"]
    assert all("test_raises.py::test_two" in item["cause"] for item in failures[:2])
    assert "1 failing" in failures[4]["cause"]


REFUSED = [
    ({}, "give either a command or the paths of tests"),
    ({"command": ["true"], "paths": ["."]}, "give either a command or the paths of tests"),
    ({"command": ["python", "a.py", "||", "true"]}, "runs without a shell, so || has no meaning"),
    ({"command": "pytest -q | tail -n 1"}, "runs without a shell, so | has no meaning"),
    ({"command": ["", "x"]}, "a command has a program as its first word"),
    ({"command": ["echo", "a\0b"]}, "a command has a program as its first word, and no null"),
    ({"command": "echo 'a"}, "not a list of words: No closing quotation"),
    ({"command": ["x"] * 65}, "at most 64 items"),
]


async def test_a_command_that_only_a_shell_could_run_is_refused(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(tmp_path, sandbox, *(call("verify", **args) for args, _ in REFUSED))
    assert result.runs == []
    for text, (_, reason) in zip(result.texts, REFUSED, strict=True):
        assert text.startswith("error: ")
        assert reason in text


HOLLOW = {
    "no tests": ({"a.py": b"x = 1\n"}, "no tests were found"),
    "no collection": ({"test_a.py": b"import nothing_at_all\n"}, "1 error"),
    "an end in the middle": (
        {"test_a.py": b"import os\n\ndef test_a():\n    os._exit(0)\n"},
        "pytest ended without a report",
    ),
    "a collection alone": (
        {"test_a.py": GOOD, "pytest.ini": b"[pytest]\naddopts = --collect-only\n"},
        "1 not run",
    ),
    "a report of its own": (
        {
            "test_a.py": b"import os, pathlib\n\ndef test_a():\n"
            b"    pathlib.Path('.fettle-tests.json').write_text('[]')\n    os._exit(0)\n"
        },
        "pytest ended without a report",
    ),
    "a limit": ({"test_a.py": b"def test_a():\n    while True: pass\n"}, "without a report"),
}


@pytest.mark.parametrize("case", HOLLOW)
async def test_a_verification_without_evidence_has_not_passed(
    tmp_path: Path, sandbox: LocalSandbox, case: str
) -> None:
    files, words = HOLLOW[case]
    limits = Limits(wall_seconds=3 if case == "a limit" else 60)
    result = await use(tmp_path, sandbox, call("verify", paths=["."]), files=files, limits=limits)
    assert result.texts[0].startswith("not passed: ")
    assert words in result.texts[0].split("\n")[0]
    assert [run["succeeded"] for run in result.runs] == [False]


async def test_files_are_searched(tmp_path: Path, sandbox: LocalSandbox) -> None:
    files = {
        "a.py": b"import os\n\nx = os.environ\n",
        "src/b.py": b"import re\nX = 'os'\n",
        "src/deep/c.txt": b"import os\n",
        "blob.bin": b"\0import os\n",
        "re.py": b"raise SystemExit('the search must not import this')\n",
        "long.txt": b"." * 5_000 + b"needle" + b"." * 5_000,
    }
    result = await use(
        tmp_path,
        sandbox,
        call("search", pattern=r"^import \w+$"),
        call("search", pattern=r"\bos\b", glob="*.py"),
        call("search", pattern="x =", glob="src/**/*.py", ignore_case=True),
        call("search", pattern="import", glob="src/**"),
        call("search", pattern="needle"),
        call("search", pattern="nowhere"),
        call("search", pattern="import", max_results=1),
        call("search", pattern="(unclosed"),
        files=files,
    )
    assert (
        result.texts[0] == "a.py:1: import os\nsrc/b.py:1: import re\nsrc/deep/c.txt:1: import os"
    )
    assert result.texts[1] == "a.py:1: import os\na.py:3: x = os.environ\nsrc/b.py:2: X = 'os'"
    assert result.texts[2] == "src/b.py:2: X = 'os'"
    assert result.texts[3] == "src/b.py:1: import re\nsrc/deep/c.txt:1: import os"
    assert "needle" in result.texts[4]
    assert len(result.texts[4]) < 400
    assert result.texts[5] == "no match in 6 files"
    assert result.texts[6].endswith(
        "[there are more than these 1 matches: use a narrower pattern or glob]"
    )
    assert result.texts[7].startswith("error: the pattern is not a regular expression: missing )")
    assert result.runs == []


async def test_links_of_a_job_without_a_repository_stay_and_are_followed(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call(
            "shell", command="ln -s data/a.txt one; ln -s data all; ln -s /etc/hosts out; ln -s x x"
        ),
        call("read_file", path="one"),
        call("write_file", path="all/b.txt", content="b"),
        call("list_dir"),
        call("search", pattern="."),
        call("shell", command="cat one all/b.txt; readlink out; ln -sfn data/b.txt one; rm all"),
        call("edit_file", path="one", old_text="b", new_text="c"),
        call("read_file", path="out"),
        call("shell", command="cat data/b.txt; ls"),
        files={"data/a.txt": b"a\n"},
    )
    assert (
        "new or changed files: all -> data, one -> data/a.txt, out -> /etc/hosts" in result.texts[0]
    )
    assert result.texts[1] == "a\n"
    assert result.texts[2].startswith("wrote data/b.txt")
    assert result.texts[3] == "all -> data\ndata/\none -> data/a.txt\nout -> /etc/hosts\nx -> x"
    assert result.texts[4] == "data/a.txt:1: a\ndata/b.txt:1: b"
    assert result.runs[1]["stdout"]["text"] == "a\nb/etc/hosts\n"
    assert result.texts[6] == "edited data/b.txt (line 1)"
    assert result.texts[7].startswith("error: the symbolic link 'out' -> '/etc/hosts' leads out")
    assert result.runs[2]["stdout"]["text"] == "cdata\none\nout\nx\n"


async def test_a_run_that_leaves_many_files_blocks_no_write_and_no_run(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    make = "mkdir -p {0}; cd {0}; for n in $(seq 1300); do : > $n; done"
    result = await use(
        tmp_path,
        sandbox,
        call("shell", command=make.format("build") + "; cd ..; echo 2 > src.txt"),
        call("write_file", path="a.txt", content="a"),
        call("shell", command=make.format("node_modules/x") + "; cd ../..; echo z > z.txt"),
        call("shell", command="cat a.txt src.txt z.txt; ls build | wc -l; ls node_modules"),
        files={"src.txt": b"1\n"},
        limits=Limits(wall_seconds=120.0, cpu_seconds=120),
    )
    first = sorted(f"build/{number}" for number in range(1, 1301))[1000]
    assert result.runs[0]["refused"] == [
        f"{first} and 299 more: at most 1000 new files of one run are kept"
    ]
    assert result.texts[1].startswith("wrote a.txt")
    (refused,) = result.runs[1]["refused"]
    assert refused.startswith("node_modules/x/1 and 1299 more: ignored by git, or of packages")
    assert result.runs[2]["stdout"]["text"] == "a2\nz\n1000\n"
    assert not result.runs[2]["succeeded"]  # the command has not made node_modules


async def test_a_failure_of_a_test_shows_its_lines_and_what_it_printed(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    test = b"""import pytest


def test_printed():
    print('the value is', 7)
    assert False


@pytest.mark.parametrize('n', range(3))
def test_alike(n):
    raise KeyError('a')


def test_long():
    assert list(range(100)) == list(range(1, 101))


@pytest.fixture
def broken():
    raise OSError('no disk')


def test_set_up(broken):
    pass
"""
    writing_test = b"def test_left():\n    open('left.txt', 'w').write('x')\n"
    result = await use(
        tmp_path,
        sandbox,
        call("verify", command=["pytest", "test_a.py", "-vv"]),
        call("verify", paths=["test_left.py"]),
        files={"test_a.py": test, "test_left.py": writing_test},
    )
    text, left_text = result.texts
    assert text.startswith("not passed: 5 failed, 1 error")
    assert "    Captured stdout call:\n    the value is 7\n" in text
    assert "failed test_a.py::test_alike[1]: as above" in text
    assert "E   KeyError: 'a'" in text
    assert "error test_a.py::test_set_up" in text
    assert "E   OSError: no disk" in text
    long = text.partition("failed test_a.py::test_long\n")[2].partition("\nerror")[0].splitlines()
    assert len(long) == 21
    assert "lines left out ...]" in long[10]
    assert left_text == "passed: 1 passed\n\nnew or changed files: left.txt"
    assert all(
        {"id", "outcome", "detail"} == set(item) for item in result.runs[0]["tests"]["tests"]
    )


FAILING_LINES = {
    "a script names its line": (
        "echo a\ngrep -c no a.txt\necho never",
        (
            "exit code 1: line 2 of 3: `grep -c no a.txt` exited 1; the rest did not run"
            "\n\nstdout:\na\n0"
        ),
    ),
    "the last line": ("echo a\nfalse", "exit code 1: line 2 of 2: `false` exited 1\n"),
    "one line names its command": (
        "echo a; cat none.txt; echo never",
        "exit code 1: `cat none.txt` exited 1; the rest did not run\n\nstdout:\na\n\nstderr:\ncat:",
    ),
    "the parts of a pipe": (
        "echo a\ngrep no a.txt | wc -l\necho never",
        "exit code 1: line 2 of 3: `grep no a.txt | wc -l` exited 1 | 0; the rest did not run",
    ),
    "a chain": (
        "grep -q no a.txt && echo found",
        "exit code 1: `grep -q no a.txt` exited 1; the rest did not run\n",
    ),
    "one command": ("grep no a.txt", "exit code 1\n\nno output, no new files"),
    "a function": (
        "check() {\n  grep -q no a.txt\n}\ncheck\necho never",
        "exit code 1: line 2 of 5: `grep -q no a.txt` exited 1; the rest did not run",
    ),
    "a subshell": (
        "echo a\n(cd /; false; echo b)\necho never",
        "exit code 1: line 2 of 3: `( cd /; false; echo b )` exited 1; the rest did not run",
    ),
    "a condition of bash": (
        "true | true\n[[ a == b ]]\necho never",
        "exit code 1: line 2 of 3: `[[ a == b ]]` exited 1; the rest did not run\n",
    ),
    "an arithmetic condition after a reader that ends": (
        "yes | head -1\n(( 1 > 2 ))\necho never",
        "exit code 1: line 2 of 3: `(( 1 > 2 ))` exited 1; the rest did not run\n\nstdout:\ny",
    ),
    "in a function, after a reader that ends": (
        "f() {\n  yes | head -1\n  false\n  echo never\n}\nf",
        "exit code 1: line 3 of 6: `false` exited 1; the rest did not run\n\nstdout:\ny",
    ),
    "in a subshell, after a reader that ends": (
        "(yes | head -1; false; echo never)",
        "exit code 1: `( yes | head -1; false; echo never )` exited 1; the rest did not run\n\nst",
    ),
    "after a long loop and a reader that ends": (
        "for i in {1..3000}; do :; done\nyes | head -1\nfalse\necho never",
        "exit code 1: line 3 of 4: `false` exited 1; the rest did not run\n\nstdout:\ny",
    ),
    "a negation": (
        "echo a\n! grep -q yes a.txt",
        "exit code 1: line 2 of 2: `! grep -q yes a.txt` exited 1\n",
    ),
    "a limit": (
        "echo a\nsleep 30\necho b",
        "stopped: it ran for longer than 2 s: in line 2 of 3: `sle",
    ),
    "an exit of its own": ("echo a\nexit 3\necho b", "exit code 3\n\nstdout:\na"),
    "no syntax": ("echo a\nif", "exit code 2\n\nstdout:\na\n\nstderr:\nbash: eval: line 3: syntax"),
    "no failure: conditions": (
        "if grep -q no a.txt; then echo y; fi\ngrep -q no a.txt || echo n\n! true\necho end",
        "exit code 0\n\nstdout:\nn\nend",
    ),
    "no failure: a reader that ends": (
        "yes | head -1\nseq 1000000 | (head -1; exit 0)\nf() { yes | head -1; }\nf\necho end",
        "exit code 0\n\nstdout:\ny\n1\ny\nend",
    ),
    "no failure: a reader that ends last": ("yes | head -1", "exit code 0\n\nstdout:\ny"),
    "no failure: allowed": ("set +e\nfalse\necho on", "exit code 0\n\nstdout:\non"),
    "strict after a reader that ends": (
        "yes | head -1\nfalse\necho never",
        "exit code 1: line 2 of 3: `false` exited 1; the rest did not run\n\nstdout:\ny",
    ),
}


@pytest.mark.parametrize("case", FAILING_LINES)
async def test_a_shell_names_the_command_that_failed(
    tmp_path: Path, sandbox: LocalSandbox, case: str
) -> None:
    line, text = FAILING_LINES[case]
    command = call("shell", command=line, timeout_seconds=2 if case == "a limit" else None)
    result = await use(tmp_path, sandbox, command, files={"a.txt": b"yes\n"})
    assert result.texts[0].startswith(text)
    run = result.runs[0]
    assert run["succeeded"] is text.startswith("exit code 0")
    excerpt = "".join((result.texts[0], run["stdout"]["text"], run["stderr"]["text"]))
    assert not {"\x1e", "\x1f"} & set(excerpt)
    assert "fettle" not in excerpt


async def test_a_command_line_runs_as_if_it_were_alone(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    line = """{ echo a; echo b; } > group.txt
exec 3> three.txt
echo three >&3
mkdir -p sub && cd $_ && pwd
cd ..
set -x
echo traced
set +x
echo "$0 $# $?"
python -c 'import os; print(sorted(k for k in os.environ if "fettle" in k.lower()))'
exec > rest.txt 2> errors.txt
echo hidden; cat none.txt || true
false
"""
    result = await use(tmp_path, sandbox, call("shell", command=line))
    assert result.texts[0].startswith(
        "exit code 1\n\nstdout:\n/work/sub\ntraced\nbash 0 0\n[]\n\n"
        "stderr:\n++ echo traced\n++ set +x\n\n"
        "new or changed files: errors.txt, group.txt, rest.txt, three.txt"
    )
    files = await result.files()
    assert files["group.txt"] == b"a\nb\n"
    assert files["rest.txt"] == b"hidden\n"
    assert files["errors.txt"].startswith(b"cat: none.txt")
    assert b"\x1e" not in b"".join(files.values())


async def test_each_command_of_a_script_shows_its_head_and_tail(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    result = await use(
        tmp_path,
        sandbox,
        call("shell", command="seq 1 6000\necho MIDDLE\nseq 20000 24000"),
        call("shell", command="seq 1 3000"),
    )
    text, short = result.texts
    for excerpt in ("stdout:\n1\n2\n", "\n6000\nMIDDLE\n20000\n", "\n23999\n24000"):
        assert excerpt in text
    assert text.count("characters left out") == 2
    assert 14_000 < len(text) < 17_000
    assert "left out" not in short


@pytest.mark.parametrize(
    "command",
    [
        ["env", "-u", "HOME", "LEVEL=2", "pytest", "-q", "test_level.py"],
        ["LEVEL=2", "python", "-m", "pytest", "test_level.py"],
        ["env", "LEVEL=2", "python3", "-W", "error", "-X", "dev", "-m", "pytest"],
        "LEVEL=2 pytest -k level",
    ],
)
async def test_pytest_with_variables_reports_each_test(
    tmp_path: Path, sandbox: LocalSandbox, command: object
) -> None:
    test = b"import os\n\ndef test_level():\n    assert os.environ['LEVEL'] == '2'\n"
    used = await use(
        tmp_path, sandbox, call("verify", command=command), files={"test_level.py": test}
    )
    assert used.texts == ["passed: 1 passed"]
    assert used.runs[0]["tests"]["counts"] == {"passed": 1}


async def test_texts_with_half_surrogates_do_not_lose_the_report(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    test = (
        b"import pytest\n\ndef test_a():\n    pass\n\n\n"
        b"@pytest.mark.skip('\\udcff')\ndef test_b():\n    pass\n"
    )
    command = call("verify", paths=["test_a.py"])
    result = await use(tmp_path, sandbox, command, files={"test_a.py": test})
    assert result.texts[0] == ("passed: 1 skipped, 1 passed\nskipped:\n    test_a.py::test_b (?)")


async def test_another_program_with_variables_is_not_pytest(
    tmp_path: Path, sandbox: LocalSandbox
) -> None:
    program = b"import os, sys\nprint(os.environ['LEVEL'], sys.argv[1:])\n"
    command = ["LEVEL=2", "python", "a.py", "-m", "pytest"]
    used = await use(tmp_path, sandbox, call("verify", command=command), files={"a.py": program})
    assert used.texts == ["exit code 0\n\nstdout:\n2 ['-m', 'pytest']"]
