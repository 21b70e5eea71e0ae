"""What only looks around, and what runs the code."""

from __future__ import annotations

import time

import pytest

from agents.repair.command_line import is_aside

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
    'echo "$(cat a.txt)"; x="$(ls | wc -l)"; echo `date`',
    'echo "$((1 + 2)) \\$(python a.py) \\`python a.py\\`"',
    "awk '{print $(NF-1)}' a.csv; echo '`python a.py`'",
    "diff a.txt <(sort b.txt)",
    "find . -name '*.txt' -exec cat {} +",
    "",
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
    ['"', "'", "`", "$(", '"$(', "$( ", "\\", '\\"', "\"a'", "env ", "command ", "find -exec "],
)
def test_the_pieces_of_substitutions_cost_no_more_either(piece: str) -> None:
    begun = time.process_time()
    is_aside(piece * (20_000 // len(piece)))
    assert time.process_time() - begun < 1


@pytest.mark.parametrize("line", RUNS)
def test_a_run_is_none(line: str) -> None:
    assert not is_aside(line)
