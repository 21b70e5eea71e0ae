"""What only looks around, and what runs the code."""

from __future__ import annotations

import time
from functools import partial

import pytest

from agents.repair.behind import edits_behind
from agents.repair.command_line import is_aside
from agents.repair.hidden import hides_all, hides_any
from agents.repair.inline import starts_a_file

LOOKS = [
    'for f in *.py; do cat "$f"; done',
    "for i in 1 2 3\ndo\n  echo $i\ndone",
    "while read l; do echo $l; done < a.txt",
    "if [[ -f a.py ]]; then cat a.py; else echo no; fi",
    "case x in *) ls;; esac",
    "{ ls; } 2>&1 | head -5",
    "(ls; : > a.txt)",
    "test -f x || exit 1",
    "command -v python",
    "python3 --version; which pytest",
    "python -m pip list",
    "python -m py_compile a.py",
    "python -m json.tool a.json",
    "ls | xargs -n1 cat",
    "cat > a.py <<EOF\npython b.py\nEOF\nls",
    "tee a.py <<\"EOF\"\nprint('it''s')\nEOF\n",
    'cat <<-EOF > a.py\n\tprint("it\'s")\n\tEOF',
    "env",
    "# python a.py\nls",
    "# see; python a.py | tail\nls; if true; then # python a.py\nls; fi",
    "# don't run: python a.py\nls  # don't; python a.py",
    "ls  # not `python a.py`, nor $(python a.py)",
    "grep -c '' a.csv; sed -n '' a.csv",
    'echo "$(cat a.txt)"; x="$(ls | wc -l)"; echo `date`',
    'echo "$((1 + 2)) \\$(python a.py) \\`python a.py\\`"',
    "awk '{print $(NF-1)}' a.csv; echo '`python a.py`'",
    "diff a.txt <(sort b.txt)",
    "find . -name '*.txt' -exec cat {} +",
    "",
    "bash -c 'cat a.py; ls'",
    "sh -lc 'ls'; bash -o pipefail -c 'cat a.py | head'",
    "bash -Ec 'cat a.py'",
    "eval 'cat a.py'",
    "bash -c \"bash -c 'cat a.py'\"",
    "set -e; trap 'rm -f x' EXIT; shopt -s nullglob; cat a.py",
    "bash -n run.sh",
    "make -n; make --dry-run all",
    "gawk '{ print }' a.csv",
]
RUNS = [
    "python a.py",
    'for f in *.py; do python "$f"; done',
    "if python a.py; then echo ok; fi",
    "while python a.py; do :; done",
    "x=$(python a.py); echo $x",
    "diff <(python a.py) out.txt",
    "diff out.txt <(python a.py)",
    "read -r x < <(python a.py)",
    'echo "$(python a.py)"',
    'x="$(python a.py)"',
    '[ "$(python a.py 1 2)" = 3 ]',
    '[[ "$(python a.py)" == 3 ]]',
    'if [ "$(python a.py)" != 3 ]; then exit 1; fi',
    'for i in 1 2; do echo "$(python a.py $i)"; done',
    'echo "it\'s $(cat a.txt $(python a.py))"',
    'echo "$( (cd x; python a.py) )"',
    "echo `python a.py`",
    'test "`python a.py`" = 3',
    'grep -q 3 <<< "$(python a.py)"',
    "command python a.py",
    "find . -name 'a.py' -exec python {} \\;",
    "cat a.txt | python a.py",
    "echo 3 | xargs -n1 python a.py",
    "env A=1 python a.py",
    "timeout 5 python a.py",
    "cat > a.py <<EOF\nprint(1)\nEOF\npython a.py",
    "cat > a.py <<EOF && python a.py\nprint(1)\nEOF",
    "python - <<EOF\nprint(1)\nEOF",
    "bash <<EOF\npython a.py\nEOF",
    "cat a.py | python",
    'python -c "print(1)" --version',
    "python -m pytest",
    "python -m a --help me",
    "bash run.sh",
    "./a",
    "make",
    "awk -f a.awk a.csv",
    "awk -fa.awk a.csv",
    "sed -nf a.sed a.csv",
    "jq --from-file=a.jq a.json",
    "gawk -F, -f a.awk a.csv",
    "source run.sh",
    ". ./run.sh",
    "bash -c 'python a.py'",
    "bash -ec 'cat a.py; python a.py'",
    "grep '#' a.csv || python a.py",
    "echo ${#x} $# a#b \\# | python a.py",
    "cat a.csv | grep '# x' | python a.py",
    "eval python a.py",
    "bash run.sh -n",
    "make test",
    "sqlite3 a.db < a.sql",
]


@pytest.mark.parametrize("line", LOOKS)
def test_a_look_is_an_aside(line: str) -> None:
    assert is_aside(line)


@pytest.mark.parametrize("piece", ["cat <<a\n", "cat <<a\na\n", "<<'a ", "python <<a\n", "a<<\n"])
def test_the_length_of_a_command_line_is_all_that_it_costs(piece: str) -> None:
    begun = time.process_time()
    is_aside(piece * (100_000 // len(piece)))
    assert time.process_time() - begun < 2


@pytest.mark.parametrize(
    "piece",
    [
        '"', "'", "`", "$(", '"$(', "$( ", "\\", '\\"', "\"a'", "env ", "command ", "find -exec ",
        "eval ", "bash -c '", "sh -c ", "a | ", "a || ", "if a; ", "set +e; ", "# ", "env #\n",
    ],
)  # fmt: skip
def test_the_pieces_of_substitutions_cost_no_more_either(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    for reads in (is_aside, hides_any, partial(edits_behind, changed=["a.py"]), starts_a_file):
        begun = time.process_time()
        reads(text)
        assert time.process_time() - begun < 2


@pytest.mark.parametrize("line", RUNS)
def test_a_run_is_none(line: str) -> None:
    assert not is_aside(line)


HIDES = [
    "python a.py || true",
    "python a.py || echo failed",
    "python a.py | tail -5 || :",
    "cd x && python a.py && ls || echo no",
    "set +e; python a.py; echo done",
    "set +o errexit\npython a.py\nexit 0",
    'set +e\npython a.py\necho "exit code $?"',
    "if python a.py; then echo ok; else echo no; fi",
    "! python a.py",
    "until python a.py; do sleep 1; done",
    "python a.py & sleep 1",
    "timeout 5 python a.py || exit 0",
    "bash -c 'python a.py || true'",
    "bash -c 'python a.py; echo done'",
    "bash -c 'python a.py' || true",
    "(python a.py) || true",
    'echo "$(python a.py)"',
    "echo total: $(python a.py 1)",
    'printf "%s" "`python a.py`"',
]
PASSES_ON = [
    "python a.py",
    'x="$(python a.py)"; echo "$x"',
    "x=$(python a.py); echo $x",
    '[ "$(python a.py)" = 3 ]',
    'echo "$(date)"; python a.py',
    "python a.py; echo done",
    "python a.py && echo ok",
    "python a.py | tail -5",
    "timeout 5 python a.py; exit 0",
    "set -euo pipefail; python a.py; echo done",
    "set +e; python a.py",
    "set +e; python a.py\n# and no more",
    "# python a.py || true\npython a.py  # 1 & 2 || true",
    "python a.py # it's for $# || true\nls",
    "set +e; python a.py; code=$?; echo $code; exit $code",
    "set +e; python a.py; code=$?; [ $code -eq 0 ]",
    "python a.py || exit 1",
    "python a.py || { echo no; exit 1; }",
    "if ! python a.py; then echo no; exit 1; fi",
    "test -f a.csv || python make_it.py",
    "which node || true; python a.py",
    "mkdir -p out || true\npython a.py",
    "cat <<EOF > x || true\npython a.py || true\nEOF\npython a.py",
    "bash -ec 'python a.py; echo done'",
    "bash -c 'cd x; python a.py'",
    "python - <<EOF\nif x:\n    y = a or b\nEOF",
]


@pytest.mark.parametrize("line", HIDES)
def test_a_command_line_may_hide_how_its_commands_end(line: str) -> None:
    assert (hides_all(line), hides_any(line)) == (True, True)


@pytest.mark.parametrize("line", PASSES_ON)
def test_a_command_line_that_fails_with_its_commands_hides_nothing(line: str) -> None:
    assert (hides_all(line), hides_any(line)) == (False, False)


def test_one_command_that_hides_nothing_shows_something() -> None:
    line = "python a.py || true; python b.py"
    assert (hides_all(line), hides_any(line)) == (False, True)
    assert not hides_all("ls || true")


@pytest.mark.parametrize(
    ("line", "edits"),
    [
        ("python a.py && sed -i s/-/+/ a.py", True),
        ("python a.py; echo 'x = 1' >> ./a.py", True),
        ("python a.py; echo '' >> a.py\n# done", True),
        ("python a.py\n# what was in > a.py", False),
        ("python a.py\ncat > a.py <<EOF\nx = 1\nEOF", True),
        ("python a.py; mv fixed.py a.py; ls", True),
        ("python a.py; mv fixed.py a.py  # so", True),
        ("python a.py; git checkout .", True),
        ("python a.py; patch -p1 < fix.diff", True),
        ("python a.py; sed -i s/-/+/ *.py", True),
        ("sed -i s/-/+/ a.py", True),
        ("cat > a.py <<EOF\nx = 1\nEOF\npython a.py", False),
        ("sed -i s/-/+/ a.py && python a.py && cat a.py | head", False),
        ("sed -i s/-/+/ a.py && python a.py; sed -n 1,5p a.py; git diff", False),
        ("sed -i s/-/+/ a.py && python a.py > out.txt; cp a.py b.txt", False),
        ("python a.py && tar xzf new.tgz", True),
        ("python a.py && tar -C . --extract -f new.tar", True),
        ("python a.py && tar -xf new.tar && ls", True),
        ("python a.py && tar czf out.tgz a.py", False),
        ("python a.py && tar -czf max.tgz a.py", False),
        ("python a.py; git stash", True),
        ("python a.py; git stash pop", True),
        ("python a.py; git stash list", False),
        ("python x.py && cp x.py a.py", False),
        ("python ./x.py 3 && cp -p x.py ./a.py", False),
        ("sqlite3 a.db < x.sql && cp x.sql a.py", False),
        ("python a.py && cp x.py a.py", True),
        ("python x.py && python a.py && cp x.py a.py", True),
        ("pytest -q && cp x.py a.py", True),
        ("python x.py && cp *.py a.py", True),
        ("python x.py && mv x.py a.py", True),
        ("python a.py; cp", False),
    ],
)
def test_what_is_changed_behind_the_last_program_of_a_command_line(line: str, edits: bool) -> None:
    assert edits_behind(line, ["a.py"]) is edits
