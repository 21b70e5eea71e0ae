"""A forked interpreter behaves like a new one.

Each program runs twice: in a fork, and with an additional module in its workspace, for which the
sandbox starts a new interpreter. Both runs must have the same output and end.
"""

# ruff: noqa: E501

from __future__ import annotations

import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
import pytest_asyncio
from support.servers import docker_engine as engines

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Command, End, Limits, RunResult

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LIMITS = Limits(wall_seconds=60.0)

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.matrix(every=4)]

PROGRAMS: dict[str, str | bytes] = {
    # How the interpreter ends
    "print": "print('hello', end='')",
    "a fork beside a thread": "import os, threading, time\n"
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
    "if os.fork() == 0: print(len(threading.enumerate()), flush=True); os._exit(0)\n"
    "os.wait(); print(threading.active_count())",
    "os._exit": "import os; print('lost?'); os._exit(9)",
    "segmentation fault": "import ctypes; ctypes.string_at(0)",
    "sigterm": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "keyboard interrupt raised": "def f(): raise KeyboardInterrupt\nf()",
    "broken pipe": "import os, sys\nr, w = os.pipe(); os.close(r); os.dup2(w, 1)\nprint('x')",
    # What the interpreter prints
    "traceback": "def f(x):\n    return 1 / x\n\nfor i in (1, 0):\n    print(f(i))\n",
    "group": "raise ExceptionGroup('g', [ValueError(1), ExceptionGroup('h', [KeyError('k')])])",
    "recursion": "import sys\ndef f(): f()\ntry: f()\nexcept RecursionError as e: print(e)",
    "name error's hint": "valu = 1\nprint(value)",
    "import error": "import no_such_module_at_all",
    "excepthook": "import sys\ndef h(t, v, b): print('hook', t.__name__, v, b.tb_lineno, b.tb_next)\n"
    "sys.excepthook = h\n1/0",
    "unraisable": "class D:\n  def __del__(self): raise ValueError('in del')\nD()",
    "thread fails": "import threading as t\ndef f(): 1/0\nx = t.Thread(target=f); x.start(); x.join()",
    "warning": "import warnings; warnings.warn('careful'); warnings.warn('old', DeprecationWarning)",
    # The properties of the interpreter
    "its main module": "print({n: str(v)[:30] for n, v in sorted(vars().items())})",
    "its names": "import __main__, sys\nprint(__name__, __file__, __main__ is "
    "sys.modules['__main__'], vars(__main__) is globals(), __builtins__, __spec__)",
    "sys": "import sys\nprint(sys.argv, sys.orig_argv, sys.path, sys.executable, sys.flags, "
    "sys.prefix, sys.exec_prefix, sys.getrecursionlimit(), sys.dont_write_bytecode, "
    "sys.warnoptions, sys._xoptions, sys.getswitchinterval(), sys.gettrace(), sys.platform)",
    "streams": "import sys\nfor s in (sys.stdin, sys.stdout, sys.stderr, sys.__stdout__):\n"
    "  print(s, s.errors, s.newlines, s.line_buffering, s.write_through, s.isatty(), s.fileno(),"
    "s.seekable(), s.readable(), s.writable(), s.buffer, s.mode, s.name, s.closed)",
    "odd text out": "import sys\nprint('\\udcff\\u20ac'); print('\\udcff', file=sys.stderr)",
    "standard input": "import sys\nprint(input(), sys.stdin.read(), sys.stdin.buffer.read())",
    "environment": "import os; print(sorted(os.environ.items())); os.system('env | sort')",
    "signals": "import signal\nfor s in sorted(signal.valid_signals()): "
    "print(s, signal.getsignal(s))\nprint(signal.pthread_sigmask(0, ()), signal.set_wakeup_fd(-1))",
    "process": "import os\nprint(os.getcwd(), os.getpid() == os.getpgrp() == os.getsid(0), "
    "oct(os.umask(0)), sorted(os.listdir('/proc/self/fd')), os.listdir('/proc/self/task') == "
    "[str(os.getpid())], os.get_inheritable(0))",
    "limits": "import resource as r\nprint([(n, r.getrlimit(getattr(r, n))) for n in "
    "sorted(dir(r)) if n.startswith('RLIMIT_')])",
    "threads": "import threading as t\nprint(t.main_thread() is t.current_thread(), "
    "t.current_thread().name, t.active_count(), t.Thread().name)",
    "numpy's state": "import numpy as np; print(np.geterr(), np.get_printoptions()); "
    "np.random.seed(2); print(np.random.rand(2), np.random.default_rng(1).random())",
    "matplotlib's state": "import matplotlib as m, matplotlib.pyplot as p\n"
    "print(p.get_fignums(), m.is_interactive(), m.get_backend(), hash(str(sorted(m.rcParams.items()"
    "))) and p.figure().number, len(m.rcParams), m.rcParams['figure.figsize'], p.isinteractive())",
    "source of itself": "import inspect\ndef f():\n    return 1  # one\nprint(inspect.getsource(f), "
    "open(__file__).read() == inspect.getsource(inspect.getmodule(f)))",
    # How the program is read
    "syntax error": "x = 1\nif x:\nprint(1)\n",
    "null byte": "print(1)\n#\0\nprint(2)",
    "coding": "# coding: latin-1\nprint(len('é'))",
    # How the interpreter shuts down
    "unclosed file": "f = open('f.txt', 'w'); f.write('kept')",
    "atexit": "import atexit\nfor n in (1, 2): atexit.register(print, n)\nprint('first')",
    "atexit after an error": "import atexit\natexit.register(print, 'end')\n1/0",
    "thread is waited for": "import threading, time\n"
    "said = threading.Event()\ndef f(): said.wait(); time.sleep(0.1); print('late')\n"
    "threading.Thread(target=f).start(); print('main'); said.set()",
    "daemon thread is not": "import threading, time\n"
    "threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); print('main')",
    "finalizers": "import weakref\nclass A:\n  def __init__(self, n): self.n = n\n"
    "  def __del__(self): print('del', self.n)\na = A('a'); b = A('b'); b.b = b; c = [A('c')]\n"
    "weakref.finalize(a, print, 'finalized')\ndef f(): return a, b",
    # Features that work in the interpreter
    "processes": "import multiprocessing as m\ndef f(x): return x * x\n"
    "if __name__ == '__main__':\n  for k in ('fork', 'spawn', 'forkserver'):\n"
    "    with m.get_context(k).Pool(2) as p: print(k, p.map(f, range(4)))",
    "fork": "import os\nprint('once')\nif os.fork() == 0:\n  print('child'); raise SystemExit(5)\n"
    "print(os.waitstatus_to_exitcode(os.wait()[1]))",
    "subprocess": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', "
    "'import sys; print(sys.path, sys.flags); sys.exit(3)'], capture_output=True))",
    "asyncio": "import asyncio\nasync def f(n): await asyncio.sleep(0.01); return n\n"
    "async def main():\n  p = await asyncio.create_subprocess_exec('echo', 'x', stdout=-1)\n"
    "  print(await asyncio.gather(f(1), f(2)), await p.communicate())\nasyncio.run(main())",
    "an alarm": "import signal, time\ndef h(*a): raise TimeoutError('rang')\n"
    "signal.signal(signal.SIGALRM, h); signal.setitimer(signal.ITIMER_REAL, 0.3); time.sleep(9)",
    "a module that shadows": "import statistics; print(statistics.__file__)",
}
MODULE = {"statistics.py": b"f = open('f.txt', 'w')\n"}
"""Hides a module of the library, and truncates f.txt when it is imported."""
NOT_FOR_A_SHELL = {"null byte", "subprocess", "environment"}
"""A word has no null byte, and the shell's PYTHONPATH shows in these programs."""
NATIVE = """
printf %s "$1" >/run/main.py; chmod 0555 /run
export PYTHONPATH=/work; exec /opt/venv/bin/python -P /run/main.py
"""


def everywhere(names: Mapping[str, object]) -> list[tuple[str, str]]:
    """Backends and names: all names on `local`, and some on the other backends, which use the same
    code in a sandbox.
    """
    samples = [(backend, name) for backend in engines.BACKENDS for name in list(names)[::9]]
    return [*(("local", name) for name in names), *samples]


EACH = pytest.mark.parametrize("backend", ["local", *engines.BACKENDS])
Backend = LocalSandbox | DockerSandbox
Backends = Callable[[str], Awaitable[Backend]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def backends(request: pytest.FixtureRequest) -> AsyncIterator[Backends]:
    """Opens a backend by its name, with ready sandboxes; all tests share it."""
    opened: dict[str, Backend] = {}

    async def open_backend(name: str) -> Backend:
        if name not in opened:
            host = request.getfixturevalue("docker_engine").host if name == "docker" else None
            backend = DockerSandbox(engines.IMAGE, engine=host) if host else LocalSandbox(PYTHON)
            await backend.wait_until_warm()
            opened[name] = backend
        return opened[name]

    yield open_backend
    for backend in opened.values():
        await backend.close()


@pytest.mark.parametrize(("backend", "name"), everywhere(PROGRAMS))
async def test_a_fork_behaves_like_a_new_interpreter(
    backends: Backends, backend: str, name: str
) -> None:
    sandbox = await backends(backend)
    command = program(name)
    forked = await sandbox.run(command, LIMITS)
    started = await sandbox.run(replace(command, files={**command.files, "other.py": b""}), LIMITS)
    assert comparable_parts(forked) == comparable_parts(started)
    if name not in NOT_FOR_A_SHELL:
        code = command.argv[2]
        shell = replace(command, argv=("sh", "-c", NATIVE, "sh", code))
        assert comparable_parts(await sandbox.run(shell, LIMITS)) == comparable_parts(started)


@EACH
@pytest.mark.parametrize("folder", ["", "lib/", "src/deep/"])
async def test_with_modules_in_the_workspace_no_library_is_preloaded(
    backends: Backends, backend: str, folder: str
) -> None:
    sandbox = await backends(backend)
    code = (
        "import sys; sys.path.insert(0, 'lib'); sys.path.insert(0, 'src/deep')\n"
        "import six, dateutil, packaging; print(six.OWN, dateutil.OWN, packaging.OWN)"
    )
    names = ("six.py", "dateutil/__init__.py", "packaging/__init__.py")
    files = {f"{folder}{name}": b"OWN = 'own'" for name in names}
    result = await sandbox.run(Command.python(code, files), LIMITS)
    assert result.stdout.text == "own own own\n", result.stderr.text


@EACH
async def test_only_the_program_has_the_working_directory_on_its_path(
    backends: Backends, backend: str
) -> None:
    sandbox = await backends(backend)
    code = """
import os, subprocess, sys, mine
print(sys.path[0], [name for name in os.environ if name == 'PYTHONPATH'])
for words in (['-c', 'import mine'], ['folder/program.py'], ['-m', 'folder.program']):
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    print(words[0], done.stderr.rpartition('Error: ')[2].strip())
"""
    files = {"mine.py": b"", "folder/program.py": b"import mine"}
    result = await sandbox.run(Command.python(code, files), LIMITS)
    assert result.stdout.text.splitlines() == [
        "/work []",
        "-c ",
        "folder/program.py No module named 'mine'",
        "-m ",
    ]


@EACH
async def test_a_run_has_a_virtual_environment_for_its_site_packages(
    backends: Backends, backend: str
) -> None:
    sandbox = await backends(backend)
    files = {"src/numpy.py": b"OWN = 1"}
    script = """
tool; head -1 $(command -v pytest); pytest --version
env -i $(command -v python3) -c 'import sys, extra, numpy, PIL; print(sys.prefix, numpy.OWN)'
"""
    command = Command(
        ("sh", "-ec", script),
        {**files, "tools/tool": b"#!/bin/sh\necho tool"},
        site={
            "own.pth": b"/work/src\n",
            "extra.py": b"",
            "own-1.dist-info/METADATA": b"Name: own\n",
        },
        path=("tools",),
    )
    result = await sandbox.run(command, LIMITS)
    assert result.succeeded, result
    tool, first, version, last = result.stdout.text.splitlines()
    assert (tool, first) == ("tool", "#!/run/venv/bin/python")
    assert version.startswith("pytest ")
    assert last == "/run/venv 1"
    code = "import sys, numpy; print(sys.prefix, numpy.OWN)"
    site = {"own.pth": b"/work/src\n"}
    result = await sandbox.run(replace(Command.python(code, files), site=site), LIMITS)
    assert result.stdout.text == "/run/venv 1\n"
    names = ("../x.pth", "~x.pth", "a/../x.pth", "/x.pth", "a//x.pth", "x.pth/", "x\n.pth")
    for wrong in (*({"site": {name: b""}} for name in names), {"path": ("/usr",)}):
        with pytest.raises(ValueError, match="path"):
            await sandbox.run(replace(command, **wrong), LIMITS)


@EACH
async def test_a_fork_has_its_libraries_loaded(backends: Backends, backend: str) -> None:
    sandbox = await backends(backend)
    await sandbox.wait_until_warm()  # some of a container's sandboxes may not be loaded yet
    code = "import sys; print({'numpy', 'matplotlib.pyplot', 'pandas'} <= set(sys.modules))"
    command = Command.python(code)
    assert (await sandbox.run(command, LIMITS)).stdout.text == "True\n"
    assert (await sandbox.run(replace(command, seed=1), LIMITS)).stdout.text == "False\n"


@EACH
async def test_two_forks_have_different_random_numbers(backends: Backends, backend: str) -> None:
    sandbox = await backends(backend)
    code = """
import multiprocessing, os, random, secrets, tempfile, uuid, numpy
print(random.random(), numpy.random.random(), numpy.random.default_rng().random(), uuid.uuid4(),
      secrets.token_hex(), os.urandom(4), tempfile.mktemp(), next(tempfile._get_candidate_names()),
      multiprocessing.current_process().authkey.hex(), random.SystemRandom().random(), sep="\\n")
"""
    runs = [(await sandbox.run(Command.python(code), LIMITS)).stdout.text for _ in range(3)]
    values = [value for text in runs for value in text.splitlines()]
    assert len(set(values)) == len(values) == 30


@EACH
async def test_a_seed_determines_only_the_order_of_sets(backends: Backends, backend: str) -> None:
    sandbox = await backends(backend)
    code = "import random; print({str(n) for n in range(50)}); print(random.random())"
    runs = [
        (await sandbox.run(replace(Command.python(code), seed=seed), LIMITS)).stdout.text
        for seed in (3, 3, 4)
    ]
    (first, first_random), (second, second_random), (third, _) = (
        text.splitlines() for text in runs
    )
    assert first == second != third
    assert first_random != second_random


def program(name: str) -> Command:
    """The command of one of the programs, with its files and its standard input."""
    files = MODULE if name == "a module that shadows" else {}
    return replace(Command.python(str(PROGRAMS[name]), files), stdin=b"one\ntwo\nthree\n")


def _plain(text: str) -> list[str]:
    """Lines without addresses, and without the seed that one of the two runs had."""
    text = re.sub(r"0x[0-9a-f]{6,}", "0x", text)
    text = re.sub(r"\b\d+\.\d+s\b", "0s", text)
    return (
        text.replace("('PYTHONHASHSEED', '1'), ", "").replace("PYTHONHASHSEED=1\n", "").splitlines()
    )


def comparable_parts(result: RunResult) -> tuple[object, ...]:
    """The parts of a result that must be equal in both runs."""
    assert result.end in {End.EXITED, End.SIGNALED}
    return (
        *(_plain(stream.text) for stream in (result.stdout, result.stderr)),
        (result.end, result.exit_code, result.signal),
        (dict(result.changed), result.deleted, result.refused),
    )
