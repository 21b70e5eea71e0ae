"""`run` without a service: it starts a temporary service, which ends with the program."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.graph.working_model import works
from support.processes.fettle_command import environment
from support.servers.tiny_service import Answer, problem, serving

from cli.local import ports
from fettle import embedded
from fettle._sync import transport
from fettle.errors import ApiError, ServiceUnreachable
from lab.drills.process_tree import children
from lab.provider import ProviderServer

pytestmark = pytest.mark.timeout(300)  # a service starts in each test
USES_IT = """
import sys
from fettle import embedded, run
embedded.DEFAULT_URL = f"http://127.0.0.1:{sys.argv[1]}"  # no service of this machine
addresses = set()
for number in range(2):
    result = run("Print the answer to everything", files={"a.txt": "It prints 42."})
    assert result.answer == "It prints 42."
    print(result.files["a.txt"].read_text(), flush=True)
    addresses.add(embedded.EMBEDDED.address())
print(len(addresses), flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


@pytest.mark.parametrize("end", ["exit", "SIGKILL"])
def test_two_calls_share_a_service_that_ends_with_the_program(tmp_path: Path, end: str) -> None:
    with ProviderServer(works) as provider:
        model = {"GROQ_API_KEY": "gsk_x", "FETTLE_GROQ_BASE_URL": provider.groq_url}
        program = subprocess.Popen(
            [
                *(sys.executable, "-c", USES_IT, str(ports.free(1)[0])),
                "wait" if end == "SIGKILL" else "exit",
            ],
            cwd=tmp_path,
            env=environment(tmp_path, **model),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert program.stdout is not None
            lines = [program.stdout.readline() for _ in range(3)]
            assert lines == ["It prints 42.\n", "It prints 42.\n", "1\n"]
            service = children(program.pid) if end == "SIGKILL" else []
        finally:
            if end == "SIGKILL":
                program.kill()
            program.wait(60)
    wait_gone(tmp_path / "tmp", service)


def test_a_killed_service_leaves_no_folder(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "cli", "up", "--temporary"],
        env=environment(tmp_path),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as service:
        assert service.stdout is not None
        assert service.stdout.readline()
        assert [*(tmp_path / "tmp").glob("fettle-demo-*")]
        processes = children(service.pid)
        service.kill()
    wait_gone(tmp_path / "tmp", processes)


def wait_gone(folder: Path, processes: list[int]) -> None:
    """Fails if a process or a file of the service is still there after a minute."""
    ends = time.monotonic() + 60
    while remaining := [*folder.glob("fettle-*"), *filter(is_alive, processes)]:
        assert time.monotonic() < ends, remaining
        time.sleep(0.1)


def is_alive(process: int) -> bool:
    return Path(f"/proc/{process}/cmdline").exists()


def test_a_proxy_does_not_hide_a_service_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FETTLE_URL", raising=False)
    monkeypatch.setenv("ALL_PROXY", "socks5://proxy.test:1080")
    with serving() as service:
        service.on("GET /healthz", Answer(200, {"status": "ok"}))
        service.on("POST /jobs", problem(422, "The request is not valid"))
        for module in (embedded, transport):
            monkeypatch.setattr(module, "DEFAULT_URL", service.url)
        with pytest.raises(ApiError, match="not valid"):
            embedded.run("Print the answer to everything")


def test_without_the_product_an_error_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FETTLE_URL", raising=False)
    monkeypatch.setattr(embedded, "DEFAULT_URL", f"http://127.0.0.1:{ports.free(1)[0]}")
    monkeypatch.setattr(embedded, "_program_folders", lambda: str(tmp_path))
    with pytest.raises(ServiceUnreachable) as refused:
        embedded.run("Print the answer to everything")
    assert "FETTLE_URL" in refused.value.remedy
    assert "install" in refused.value.remedy
