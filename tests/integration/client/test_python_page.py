"""The programs of docs/python.md, the README and docs/examples run without a change."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cases.markdown_pages import REPOSITORY
from support.graph.working_model import works
from support.processes.deployment import running_deployment
from support.processes.fettle_command import environment
from support.processes.fronts import front

from lab.provider import ProviderServer, Reply, Request
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.timeout(300)  # the first job waits for the start of the worker
PLOT = """\
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig("plot.png")
print("\\x1b42")
"""


def programs(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


PROGRAMS = {
    f"{page.name}-{number}": program
    for page in (REPOSITORY / "docs" / "python.md", REPOSITORY / "README.md")
    for number, program in enumerate(programs(page), 1)
}
EXPECTED = {
    "python.md-1": ["It prints 42.", "data.csv 5 4\n38\n"],
    "python.md-2": ["plan ['Write.', 'Run.', 'Look.']", "run 1 42"],
    "python.md-3": ["It prints 42.", "development\n"],
    "python.md-4": ["404 False", "priority", "critic"],
    "python.md-5": ["It prints 42.\nIt prints 42.\n"],
    "python.md-6": ["It prints 42.\nIt prints 42.\n", "succeeded"],
    "python.md-7": ["It prints 42."],
    "README.md-1": ["It prints 42.\nIt prints 42.\n"],
}
"""Parts of the output of each program."""


def works_or_plots(request: Request) -> Reply:
    """Matplotlib takes seconds on a busy machine, so only the program with a picture uses it."""
    task = any("Plot it" in message.text for message in request.messages)
    return works(request, code=PLOT) if task else works(request)


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a program that uses a service with a scripted model."""
    folder = tmp_path_factory.mktemp("service")
    with ProviderServer(works_or_plots) as provider:
        model = {"GROQ_API_KEY": "gsk_x", "FETTLE_GROQ_BASE_URL": provider.groq_url}
        with running_deployment(folder, **model) as deployment, front(deployment) as api:
            deployment.worker()
            yield {"FETTLE_URL": api.url, "FETTLE_API_KEY": DEVELOPMENT_KEY}


def output_of(
    program: str, *arguments: str, folder: Path, variables: dict[str, str], typed: str = ""
) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=folder,
        env=environment(folder, **variables),
        input=typed,
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_of_the_page_runs(name: str, tmp_path: Path, variables: dict[str, str]) -> None:
    (tmp_path / "data.csv").write_text("4\n38\n")
    output = output_of(PROGRAMS[name], folder=tmp_path, variables=variables)
    for text in EXPECTED[name]:
        assert text in output


def test_a_strict_type_checker_accepts_the_programs(tmp_path: Path) -> None:
    paths = [tmp_path / f"program_{number}.py" for number in range(len(PROGRAMS))]
    for path, program in zip(paths, PROGRAMS.values(), strict=True):
        path.write_text(program)
    example = REPOSITORY / "docs" / "examples" / "approve.py"
    command = [sys.executable, "-m", "mypy", "--strict", *paths, example]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_example_shows_the_work_and_asks_for_a_decision(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    program = (REPOSITORY / "docs" / "examples" / "approve.py").read_text()
    assert len(program.splitlines()) <= 30
    output = output_of(
        program, "Plot it", folder=tmp_path, variables=variables, typed="Once more.\n\n"
    )
    for text in ("- Look.", 'plt.savefig("plot.png")', "Output\n42\n"):
        assert text in output
    assert "\x1b" not in output
    assert output.count("Enter approves") == 2
    (path,) = set(re.findall(r"^Picture (.+/plot\.png)$", output, re.MULTILINE))
    assert (tmp_path / path).read_bytes().startswith(b"\x89PNG")
