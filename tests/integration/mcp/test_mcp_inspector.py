"""The session of docs/mcp.md with the MCP inspector, over stdio and HTTP, has its output."""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.cases.markdown_pages import REPOSITORY
from support.graph.working_model import works
from support.processes.deployment import running_deployment
from support.processes.fettle_command import FETTLE, environment
from support.processes.fronts import front
from support.processes.node import NODE, installed

from lab.provider import ProviderServer, Reply, Request
from settings.base import DEVELOPMENT_KEY

PAGE = REPOSITORY / "docs" / "mcp.md"
CODE = "open('primes.txt', 'w').write('2 3 5 7 11\\n'); print('2 3 5 7 11')"
INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
JOB_ID = re.compile(r"[0-9a-f]{20}")
VARYING = (
    (JOB_ID, "JOB"),
    (re.compile(r"https?://[\w.:]+"), "URL"),
    (re.compile(r"untrusted-[0-9a-f]{8}"), "untrusted-MARK"),
    (re.compile(r"\d+(\.\d+)?(?= s\.)"), "SECONDS"),
    (re.compile(r"(?<=cost_usd\": \")[\d.]+"), "COST"),
    (re.compile(r"(?<=last_event\": )\d+|(?<=and after )\d+"), "EVENT"),
)
"""The parts of an output that differ in each session, and their names."""


def session() -> Iterator[tuple[str, str]]:
    """Each command of the page's session with its output."""
    block = re.findall(r"^```console\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)[0]
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, output = re.split(r"(?<!\\)\n", part, maxsplit=1)
        yield command, output


def shape(output: str) -> str:
    for pattern, name in VARYING:
        output = pattern.sub(name, output)
    return output.strip()


def folder_with_npx(folder: Path) -> Path:
    """A folder with an `npx` that runs the locked inspector instead of the newest release."""
    inspector = installed("inspector", folder) / INSPECTOR
    programs = folder / "programs"
    programs.mkdir()
    npx = programs / "npx"
    npx.write_text(
        "#!/bin/sh\n"
        '[ "$1" = @modelcontextprotocol/inspector ] || exit 99\n'
        f'shift; exec "{NODE}" "{inspector}" "$@"\n'
    )
    npx.chmod(0o755)
    return programs


@pytest.mark.timeout(300)  # npm and the start of a worker take most of the time
def test_the_inspector_hands_over_a_job_as_the_page_shows(tmp_path: Path) -> None:
    programs = folder_with_npx(tmp_path / "inspector")

    def works_on_primes(request: Request) -> Reply:
        return works(request, code=CODE, answer="primes.txt has five primes.")

    with ProviderServer(works_on_primes) as provider:
        model = {"GROQ_API_KEY": "gsk_x", "FETTLE_GROQ_BASE_URL": provider.groq_url}
        with running_deployment(tmp_path / "service", **model) as deployment:
            deployment.worker()
            asyncio.run(deployment.ready())
            with front(deployment) as api:
                env = environment(tmp_path, FETTLE_URL=api.url, FETTLE_API_KEY=DEVELOPMENT_KEY)
                env["PATH"] = f"{programs}:{FETTLE.parent}:{env['PATH']}"
                job_id = ""
                for command, expected in session():
                    done = subprocess.run(
                        ["sh", "-c", JOB_ID.sub(job_id, command)],
                        cwd=tmp_path,
                        env=env,
                        capture_output=True,
                        text=True,
                        check=False,
                        timeout=100,
                    )
                    assert shape(done.stdout) == shape(expected), done.stderr + deployment.logs()
                    job_id = job_id or "".join(JOB_ID.findall(done.stdout)[:1])
    assert job_id
