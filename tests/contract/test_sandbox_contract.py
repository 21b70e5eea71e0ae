"""The contract of every backend of the sandbox. Each test runs real code in a real sandbox."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.media import read_description
from sandbox.protocol import LIVE_BYTES, LIVE_SECONDS, MIB, Command, End, Limits, RunResult, Sandbox
from sandbox.zygote import charts

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
# If a test is not about time limits, its limit is high enough for a busy machine.
QUICK = Limits(wall_seconds=60.0)

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["local", *engines.BACKENDS])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    backend: LocalSandbox | DockerSandbox = LocalSandbox(PYTHON)
    if request.param == "docker":
        host = request.getfixturevalue("docker_engine").host
        backend = DockerSandbox(engines.IMAGE, engine=host)
    yield backend
    await backend.close()


async def python(sandbox: Sandbox, code: str, limits: Limits = QUICK, **files: bytes) -> RunResult:
    return await sandbox.run(Command.python(code, files), limits)


async def test_a_program_ends_with_its_output_and_exit_code(sandbox: Sandbox) -> None:
    result = await python(
        sandbox, "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    )
    assert (result.end, result.exit_code, result.signal) == (End.EXITED, 3, None)
    assert (result.stdout.text, result.stderr.text) == ("out\n", "err\n")
    assert not result.succeeded
    assert 0 < result.seconds < QUICK.wall_seconds


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
async def test_the_signal_of_a_killed_program_is_reported(
    sandbox: Sandbox, number: signal.Signals
) -> None:
    result = await python(sandbox, f"import os; os.kill(os.getpid(), {int(number)})")
    assert (result.end, result.exit_code, result.signal) == (End.SIGNALED, None, number)


async def test_a_traceback_shows_the_lines_that_failed(sandbox: Sandbox) -> None:
    code = "def divide(a, b):\n    return a / b\n\ndivide(10, 0)\n"
    first, second = [await python(sandbox, code) for _ in range(2)]
    assert 'File "/run/main.py", line 2, in divide\n    return a / b' in first.stderr.text
    assert first.stderr.text.endswith("ZeroDivisionError: division by zero\n")
    assert first.stderr == second.stderr


async def test_a_missing_program_is_reported_as_a_shell_does(sandbox: Sandbox) -> None:
    result = await sandbox.run(Command(("no-such-program",)), QUICK)
    assert (result.end, result.exit_code) == (End.EXITED, 127)
    assert "no-such-program" in result.stderr.text


async def test_the_word_python_is_the_sandboxs_interpreter(sandbox: Sandbox) -> None:
    files = {"test_it.py": b"import numpy\ndef test_it(): assert numpy.arange(3).sum() == 3\n"}
    command = Command(("python", "-m", "pytest", "-q", "-p", "no:cacheprovider"), files)
    result = await sandbox.run(command, QUICK)
    assert "1 passed" in result.stdout.text
    assert result.changed == {}


async def test_a_program_of_the_environment_starts_in_a_shell(sandbox: Sandbox) -> None:
    result = await sandbox.run(Command(("bash", "-c", "pytest --version")), Limits())
    assert result.exit_code == 0, result.stderr.text
    assert result.stdout.text.startswith("pytest ")


async def test_standard_input_is_complete_and_ends(sandbox: Sandbox) -> None:
    data = b"line\n" * 100_000
    command = Command(("python", "-c", "import sys; print(len(sys.stdin.read()))"), {}, data)
    assert (await sandbox.run(command, QUICK)).stdout.text == f"{len(data)}\n"
    unread = Command(("python", "-c", "print('fine')"), {}, data)
    assert (await sandbox.run(unread, QUICK)).stdout.text == "fine\n"


# Files


async def test_files_are_sent_and_only_changed_files_are_returned(sandbox: Sandbox) -> None:
    code = """
import os
from pathlib import Path
from package import module
assert os.getcwd() == '/work'
Path('grown.txt').write_text(Path('grown.txt').read_text() + 'b')
Path('rewritten.txt').write_text('same')
Path('gone.txt').unlink()
Path('new/deep').mkdir(parents=True)
Path('new/deep/f\u00fcr.bin').write_bytes(bytes(range(256)))
print(module.VALUE)
"""
    files = {
        "grown.txt": b"a",
        "rewritten.txt": b"same",
        "gone.txt": b"",
        "kept.txt": b"k",
        "package/__init__.py": b"",
        "package/module.py": b"VALUE = 'mine'",
    }
    result = await sandbox.run(Command.python(code, files), QUICK)
    assert result.stdout.text == "mine\n"
    assert result.changed == {"grown.txt": b"ab", "new/deep/f\u00fcr.bin": bytes(range(256))}
    assert (result.deleted, result.refused) == (frozenset({"gone.txt"}), ())


async def test_only_files_and_links_are_collected(sandbox: Sandbox) -> None:
    code = """
import os, socket
os.symlink('/etc/passwd', 'link')
os.symlink('/usr', 'directory-link')
os.mkfifo('pipe')
socket.socket(socket.AF_UNIX).bind('socket')
open('odd\\nname', 'w').close()
open(b'odd-\\xff', 'w').close()
open('fine', 'w').write('x'); os.link('fine', 'twin')
os.remove('was'); os.symlink('fine', 'was')
"""
    result = await sandbox.run(Command.python(code, {"was": b"here"}), QUICK)
    assert result.changed == {"fine": b"x", "twin": b"x"}
    assert result.deleted == set()
    assert result.links == {"link": "/etc/passwd", "directory-link": "/usr", "was": "fine"}
    refused = "\n".join(result.refused)
    for words in (
        "pipe: a named pipe",
        "socket: a socket",
        "odd\\nname: a control character",
        "odd-\\udcff: a name that is not UTF-8",
    ):
        assert words in refused
    assert len(result.refused) == 4


async def test_files_beyond_the_limits_are_reported_and_not_returned(sandbox: Sandbox) -> None:
    limits = Limits(file_bytes=MIB, workspace_bytes=3 * MIB, workspace_files=5)
    code = """
open('a-sparse', 'wb').truncate(1 << 20)
for n in range(3): open(f'b{n}', 'wb').write(bytes(1 << 20))
for n in range(9): open(f'c{n}', 'w').close()
"""
    result = await sandbox.run(Command.python(code, {"old": b"1"}), limits)
    assert sorted(result.changed) == ["a-sparse", "b0", "c0", "c1"]
    assert "b1: the workspace would be larger than 3145728 bytes" in result.refused
    assert "c2: the workspace would have more than 5 files" in result.refused


async def test_input_of_a_hundred_mib_leaves_the_code_its_memory(sandbox: Sandbox) -> None:
    limits = Limits(wall_seconds=60.0, file_bytes=192 * MIB, workspace_bytes=192 * MIB)
    code = """
import hashlib
data = bytearray(b'x') * (330 << 20)
start = open('input.bin', 'rb').read(40 << 20)
open('output.bin', 'wb').write(start)
print(hashlib.sha256(open('input.bin', 'rb').read()).hexdigest())
"""
    content = os.urandom(MIB) * 100
    result = await sandbox.run(Command.python(code, {"input.bin": content}), limits)
    assert result.stdout.text.strip() == hashlib.sha256(content).hexdigest(), result
    assert result.changed == {"output.bin": content[: 40 * MIB]}
    assert result.refused == ()


async def test_figures_that_the_code_does_not_save_are_collected(sandbox: Sandbox) -> None:
    code = """
import matplotlib.pyplot as plt
plt.plot([1, 2]); plt.savefig('mine.png')
plt.figure(); plt.bar([1, 2], [3, 4])
plt.figure(); open('figure-2.png', 'w').close()
"""
    result = await sandbox.run(Command.python(code), Limits())
    assert result.succeeded, result.stderr.text
    # Saved and empty figures are not saved again, and no existing file is replaced.
    assert set(result.changed) == {"mine.png", "figure-1.png", "figure-2.png"}
    assert result.changed["figure-1.png"].startswith(b"\x89PNG")
    assert result.changed["figure-2.png"] == b""


CHART = """
import matplotlib.pyplot as plt
plt.bar(['May', 'June'], [24.9, 7.25], label='shop'); plt.title('Sales'); plt.ylabel('amount')
plt.savefig('chart.png'); plt.savefig('chart.svg'); plt.savefig('chart.pdf')
plt.savefig('own.png', metadata={'Description': 'of the program', 'Author': 'Ada'}, dpi=50)
figure, (left, right) = plt.subplots(1, 2)
left.plot([1, 2, 4], label='a'); right.scatter([1, 2], [3, 5])
"""


@pytest.mark.parametrize("source", ["python", "program"])
async def test_a_chart_has_its_description(sandbox: Sandbox, source: str) -> None:
    """This also holds if a program of the workspace draws the chart, in an interpreter that is no
    fork.
    """
    command = Command.python(CHART)
    if source == "program":
        site = {"charts.pth": f"{charts.pth_line()}\n".encode()}
        command = Command(("python", "draw.py"), {"draw.py": CHART.encode()}, site=site)
    result = await sandbox.run(command, Limits(wall_seconds=60.0, cpu_seconds=60))
    assert result.succeeded, result
    assert result.stderr.text == ""
    assert read_description(result.changed["chart.png"]) == (
        '"Sales": 2 bars "shop" from 7.25 to 24.9, x axis May, June, y axis "amount" 0 to 26.145.'
    )
    assert read_description(result.changed["own.png"]) == "of the program"
    assert read_description(result.changed["chart.svg"]) == read_description(
        result.changed["chart.png"]
    )
    assert result.changed["chart.pdf"].startswith(b"%PDF")
    if source == "python":
        text = read_description(result.changed["figure-1.png"])
        assert text.startswith('(1) line with 3 points "a" from 1 to 4, x axis')
        assert "(2) scatter of 2 points from 3 to 5, x axis" in text


async def test_threads_processes_and_loopback_work(sandbox: Sandbox) -> None:
    code = """
import multiprocessing, socket, threading
from concurrent.futures import ThreadPoolExecutor
def double(n): return 2 * n
if __name__ == '__main__':
    with ThreadPoolExecutor(32) as pool:
        gate = threading.Barrier(32)
        print(sum(pool.map(lambda n: gate.wait() * 0 + n, range(32))))
    for method in ('fork', 'spawn'):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(pool.map(double, [1, 2, 3]))
    server = socket.create_server(('127.0.0.1', 0))
    client = socket.create_connection(server.getsockname())
    server.accept()[0].sendall(b'hello')
    print(client.recv(5), socket.gethostbyname('localhost'))
"""
    result = await python(sandbox, code)
    assert result.stdout.text.split("\n") == [
        "496", "[2, 4, 6]", "[2, 4, 6]", "b'hello' 127.0.0.1", "",
    ], result.stderr  # fmt: skip


# Limits


async def test_the_limit_of_wall_time_ends_all_processes(sandbox: Sandbox) -> None:
    code = """
import os, signal, subprocess, time
open('made-before', 'w').close()
print('before', flush=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True: time.sleep(0.01)
    os._exit(0)
os.kill(subprocess.Popen(['sleep', '600'], start_new_session=True).pid, signal.SIGSTOP)
time.sleep(600)
"""
    started = time.monotonic()
    result = await python(sandbox, code, Limits(wall_seconds=1.5))
    assert (result.end, result.exit_code, result.signal) == (End.TIMEOUT, None, None)
    assert result.stdout.text == "before\n"
    assert list(result.changed) == ["made-before"]
    assert 1.5 <= result.seconds <= time.monotonic() - started < 30


async def test_output_keeps_head_and_tail(sandbox: Sandbox) -> None:
    code = "print('first'); [print('x' * 99) for _ in range(10_000)]; print('last')"
    result = await python(sandbox, code, Limits(output_bytes=1000))
    assert result.end is End.EXITED
    assert result.stdout.text.startswith("first\nxxx")
    assert result.stdout.text.endswith("xxx\nlast\n")
    assert result.stdout.dropped_bytes == 1_000_011 - 1000
    assert f"[... {result.stdout.dropped_bytes} bytes left out ...]" in result.stdout.text


async def test_a_flood_of_output_is_ended(sandbox: Sandbox) -> None:
    result = await sandbox.run(Command(("sh", "-c", "yes & yes >&2")), QUICK)
    assert result.end is End.OUTPUT
    assert len(result.stdout.text) < 100_000
    assert result.stdout.dropped_bytes + result.stderr.dropped_bytes > 60 * MIB


HITS: dict[str, tuple[str, Limits, End]] = {
    "processor time of a process": (
        "while True: pass", Limits(cpu_seconds=1, wall_seconds=60.0), End.CPU,
    ),
    "processor time of all": (
        ("import os, time\nfor _ in range(2): os.fork()\nwhile time.process_time() < 0.9: pass\n"
         "time.sleep(60)"), Limits(cpu_seconds=2, wall_seconds=50.0), End.CPU,
    ),
    "memory of a process": (
        "x = []\nwhile True: x.append(bytearray(b'x') * (1 << 20))",
        Limits(memory_bytes=128 * MIB), End.MEMORY,
    ),
    "memory of all": (
        ("import os, time\nfor _ in range(3): os.fork()\nx = bytearray(b'x') * (60 << 20)\n"
         "time.sleep(5)"), Limits(memory_bytes=256 * MIB), End.MEMORY,
    ),
    "empty files": (
        "n = 0\nwhile True: open(f'/tmp/{n}', 'w').close(); n += 1", QUICK, End.DISK,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("code", "limits", "end"), HITS.values(), ids=HITS)
async def test_a_limit_ends_a_run(sandbox: Sandbox, code: str, limits: Limits, end: End) -> None:
    result = await python(sandbox, code, limits)
    assert (result.end, result.exit_code, result.signal) == (end, None, None)


RESERVED = """
import mmap
PROT_NONE = 0
print(len(mmap.mmap(-1, 10 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, prot=PROT_NONE)))
"""
"""A program that reserves address space without using it, as WebAssembly and Java do."""


async def test_address_space_is_limited_only_if_no_control_group_limits_memory(
    sandbox: Sandbox,
) -> None:
    cgroup = next(layer for layer in await sandbox.check() if layer.name == "cgroup")
    result = await python(sandbox, RESERVED)
    if cgroup.active:
        assert (result.end, result.stdout.text) == (End.EXITED, f"{10 << 30}\n"), result.stderr
    else:
        assert "Cannot allocate memory" in result.stderr.text
        assert "RLIMIT_AS" in cgroup.detail


async def test_a_fork_bomb_stays_within_the_limit_of_processes(sandbox: Sandbox) -> None:
    code = """
import os, time
made = 0
try:
    while made < 500:
        if os.fork() == 0: time.sleep(60)
        made += 1
except BlockingIOError:
    print(made)
"""
    result = await python(sandbox, code, Limits(processes=20))
    assert (result.end, result.stdout.text) == (End.EXITED, "19\n")
    bomb = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
    assert (await python(sandbox, bomb, Limits(wall_seconds=1))).end is End.TIMEOUT


async def test_a_file_too_large_is_an_error_or_a_signal(sandbox: Sandbox) -> None:
    limits = Limits(file_bytes=MIB)
    result = await python(sandbox, "open('f', 'wb').write(bytes(1 << 22))", limits)
    assert (result.end, result.exit_code) == (End.EXITED, 1)
    assert "File too large" in result.stderr.text
    command = Command(("dd", "if=/dev/zero", "of=f", "bs=64K", "count=99"))
    assert (await sandbox.run(command, limits)).end is End.DISK


async def test_a_failure_on_a_full_disk_is_reported_as_one(sandbox: Sandbox) -> None:
    code = "for n in range(99): open(f'f{n}', 'wb').write(bytes(1 << 20))"
    result = await python(sandbox, code, Limits(workspace_bytes=4 * MIB))
    assert (result.end, result.exit_code) == (End.DISK, None)
    assert "No space left" in result.stderr.text
    coped = f"try:\n  {code}\nexcept OSError: print('coped')"
    result = await python(sandbox, coped, Limits(workspace_bytes=4 * MIB))
    assert (result.end, result.stdout.text) == (End.EXITED, "coped\n")


# Isolation


async def test_the_hosts_environment_is_not_visible(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FETTLE_SECRET", "hunter2")
    code = """
import glob, json, os
environments = {}
for place in glob.glob('/proc/[0-9]*/environ'):
    try: environments[place.split('/')[2]] = open(place).read()
    except PermissionError: environments[place.split('/')[2]] = 'closed'
print(json.dumps([dict(os.environ), environments]))
"""
    variables, environments = json.loads((await python(sandbox, code)).stdout.text)
    assert set(variables) == {
        "HOME", "JE_ARROW_MALLOC_CONF", "LANG", "MALLOC_ARENA_MAX", "MKL_NUM_THREADS", "MPLBACKEND",
        "MPLCONFIGDIR", "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "PATH",
        "PYTHONDONTWRITEBYTECODE", "PYTHONNOUSERSITE", "PYTHONUNBUFFERED",
    }  # fmt: skip
    assert environments["1"] in {"", "closed"}
    assert "hunter2" not in json.dumps(environments)


async def test_there_is_no_network_but_loopback(sandbox: Sandbox) -> None:
    code = """
import socket
print([name for _, name in socket.if_nameindex()], open('/proc/net/route').read().count('\\n'))
try: socket.create_connection(('192.0.2.1', 80), 2)
except OSError as error: print(error.strerror)
for family in (socket.AF_PACKET, socket.AF_VSOCK, socket.AF_ALG):
    try: socket.socket(family, socket.SOCK_STREAM if family != socket.AF_ALG else 5)
    except OSError as error: print(error.strerror)
"""
    lines = (await python(sandbox, code)).stdout.text.splitlines()
    assert lines[:2] == ["['lo'] 1", "Network is unreachable"]
    assert len(lines) == 5
    assert set(lines[2:]) <= {"Address family not supported by protocol", "Operation not permitted"}


async def test_only_the_runs_own_folders_can_be_written(sandbox: Sandbox) -> None:
    code = """
import os
wrote = []
for top, dirs, _ in os.walk('/'):
    dirs[:] = [] if top in ('/proc', '/usr/share', '/usr/lib') else dirs
    try: open(os.path.join(top, 'probe'), 'w').close(); wrote.append(top)
    except OSError: pass
print(*sorted(set(wrote)))
"""
    result = await python(sandbox, code)
    assert result.stdout.text.split() == [
        "/dev/shm", "/tmp", "/tmp/.config", "/tmp/.config/matplotlib", "/work",
    ]  # fmt: skip


async def test_the_agent_and_its_channel_are_out_of_reach(sandbox: Sandbox) -> None:
    code = """
import ctypes, os
agent = os.getppid()
print(sorted(os.listdir('/proc/self/fd')))
for place in ('mem', 'environ', 'maps', 'fd/3', 'cwd/x', 'root/x'):
    try: open(f'/proc/{agent}/{place}', 'rb').read(1); print('open', place)
    except PermissionError: pass
try: print(os.listdir(f'/proc/{agent}/fd'))
except PermissionError: pass
libc = ctypes.CDLL(None, use_errno=True)
print([libc.ptrace(16, agent, 0, 0), ctypes.get_errno()])
print([libc.syscall(438, agent, 3, 0), ctypes.get_errno()])  # pidfd_getfd
for line in open('/proc/self/status'):
    if line.startswith(('Cap', 'NoNewPrivs', 'Seccomp:')): print(line.split()[1])
"""
    lines = (await python(sandbox, code)).stdout.text.splitlines()
    assert lines[0] == "['0', '1', '2', '3']"  # the last descriptor is that of the listing itself
    assert lines[1:3] == ["[-1, 1]"] * 2
    assert lines[3:] == ["0" * 16] * 5 + ["1", "2"]


@pytest.mark.parametrize(
    ("target", "number"),
    [
        ("1", signal.SIGSTOP),
        *((target, signal.SIGKILL) for target in ("1", "os.getppid()", "-1")),
        *(("os.getppid()", number) for number in (signal.SIGINT, signal.SIGCHLD)),
    ],
)
async def test_no_signal_of_the_code_leads_to_a_wrong_result(
    sandbox: Sandbox, target: str, number: signal.Signals
) -> None:
    code = f"""
import os, time
try: os.kill({target}, {int(number)})
except (ProcessLookupError, PermissionError): pass
time.sleep(0.05); print('on')
"""
    result = await python(sandbox, code)
    if result.end is End.EXITED:  # the agent is the sandbox's init process, or ignored the signal
        assert (result.exit_code, result.stdout.text) == (0, "on\n")
    else:  # the code can signal the agent of this backend
        assert result.end is End.KILLED
    assert (await python(sandbox, "print(1)")).succeeded


async def test_a_sandbox_is_used_once(sandbox: Sandbox) -> None:
    code = """
import os
print([n for p in ('/tmp', '/work', '/dev/shm', '/run') for n in os.listdir(p) if n == 'left'])
for p in ('/tmp', '/work', '/dev/shm'): open(p + '/left', 'w').close()
"""
    for _ in range(5):
        assert (await python(sandbox, code)).stdout.text == "[]\n"


async def test_eight_concurrent_runs_are_not_mixed_up(sandbox: Sandbox) -> None:
    async def run_numbered(number: int) -> None:
        code = f"import time; time.sleep(0.2); print({number}); open('f', 'w').write('{number}')"
        result = await sandbox.run(Command.python(code, {"f": b"-"}), QUICK)
        assert (result.stdout.text, result.changed["f"]) == (f"{number}\n", str(number).encode())

    await asyncio.gather(*(run_numbered(number) for number in range(8)))


async def test_a_cancelled_run_leaves_no_process(sandbox: Sandbox) -> None:
    mark = f"mark-{time.time_ns()}"
    command = Command(("python", "-c", f"import time; x = {mark!r}; time.sleep(60)", mark))
    run = asyncio.ensure_future(sandbox.run(command, Limits()))
    for _ in range(500):
        await asyncio.sleep(0.02)
        if _running(mark):
            break
    assert _running(mark)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert not _running(mark)


async def test_a_sandbox_stays_usable_after_a_cancel_at_any_moment(sandbox: Sandbox) -> None:
    for step in range(12):
        run = asyncio.ensure_future(python(sandbox, "print(1)"))
        await asyncio.sleep(step * 0.003)
        run.cancel()
        await asyncio.wait([run])
    assert (await python(sandbox, "print(1)")).succeeded


async def test_the_isolation_layers_are_reported(sandbox: Sandbox) -> None:
    layers = {layer.name: layer for layer in await sandbox.check()}
    # A container has its own user namespace only if its engine is rootless.
    local_layers = ("namespaces",) if isinstance(sandbox, LocalSandbox) else ()
    for name in (*local_layers, "network", "filesystem", "environment", "capabilities", "seccomp",
                 "unprivileged", "processes", "memory total"):  # fmt: skip
        assert layers[name].active, layers[name]


def _running(mark: str) -> list[int]:
    pids = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            command_line = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in command_line:
            pids.append(int(directory.name))
    return pids


# Output during a run


TALK = """
import sys, time
for number in range(40):
    print(f'line {number}', file=sys.stderr if number % 2 else sys.stdout)
    time.sleep(0.05)
"""


async def test_output_is_passed_on_while_the_run_goes_on(sandbox: Sandbox) -> None:
    pieces: list[tuple[float, bytes]] = []
    command = Command(("python", "-c", TALK))
    live = replace(command, live_output=lambda tail: pieces.append((time.monotonic(), tail)))
    result = await sandbox.run(live, QUICK)
    ended_at = time.monotonic()
    lines = [f"line {number}" for number in range(40)]
    assert len(pieces) >= 3
    assert ended_at - pieces[0][0] > 1.0
    for _, tail in pieces:  # of both streams
        for first in (0, 1):
            written = [line for line in tail.decode().splitlines() if int(line[5:]) % 2 == first]
            assert written == lines[first::2][: len(written)]
    assert len(pieces[0][1]) < len(pieces[-1][1])
    silent = await sandbox.run(command, QUICK)
    assert (result.stdout, result.stderr) == (silent.stdout, silent.stderr)
    assert (result.end, result.exit_code) == (silent.end, silent.exit_code)
    assert result.stdout.text.splitlines() == lines[::2]


async def test_a_flood_of_output_is_passed_on_in_few_small_parts(sandbox: Sandbox) -> None:
    code = """
import sys, time
end = time.monotonic() + 1.5
total = 0
while time.monotonic() < end and total < 30_000_000:
    sys.stdout.write('x' * 9_999 + '\\n')
    total += 10_000
    time.sleep(0.0005)
print('the end', flush=True)
time.sleep(0.6)
"""
    tails: list[bytes] = []
    command = replace(Command.python(code), live_output=tails.append)
    result = await sandbox.run(command, QUICK)
    assert result.succeeded
    assert 2 <= len(tails) <= result.seconds / LIVE_SECONDS + 1
    assert {len(tail) for tail in tails} == {LIVE_BYTES}
    assert tails[-1].endswith(b"the end\n")


async def test_a_quick_or_silent_run_sends_no_output_before_its_end(sandbox: Sandbox) -> None:
    tails: list[bytes] = []
    for code in ("print(1)", "import time; time.sleep(0.6)"):
        result = await sandbox.run(replace(Command.python(code), live_output=tails.append), QUICK)
        assert result.succeeded
    assert not tails
