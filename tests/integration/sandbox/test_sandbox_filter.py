"""The system call filter in this kernel: programs get the calls that they need, and attacks
do not.
"""

from __future__ import annotations

import json
import platform
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox.seccomp.filters import bpf_filter

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"

# Put this process behind the filter, which is read from standard input, and execute the program.
BEHIND = """
import ctypes, os, sys
words = sys.stdin.buffer.read()
class Program(ctypes.Structure):
    _fields_ = [("count", ctypes.c_ushort), ("lines", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
given = Program(len(words) // 8, words)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(given), 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
"""


def run(
    code: str, *words: str, at: Path, filtered: bool = True
) -> subprocess.CompletedProcess[bytes]:
    before = [sys.executable, "-c", BEHIND] if filtered else []
    return subprocess.run(
        [*before, str(PYTHON), "-c", code, *words],
        input=bpf_filter(platform.machine()),
        capture_output=True,
        check=False,
        timeout=60,
        cwd=at,
        env={"PATH": "/usr/bin:/bin", "HOME": str(at), "OMP_NUM_THREADS": "1"},
    )


NEEDED = {
    "pandas": """
import pandas
pandas.DataFrame({"a": [1, 2]}).to_csv("a.csv"); pandas.read_csv("a.csv")
""",
    "multiprocessing": """
import multiprocessing, os, sys
if __name__ == "__main__":
    from multiprocessing import shared_memory
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            assert pool.map(abs, [-1, -2]) == [1, 2], method
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(2) as pool:
        assert list(pool.map(abs, [-1])) == [1]
    one = shared_memory.SharedMemory(create=True, size=10); one.close(); one.unlink()
    multiprocessing.Queue().put(1); multiprocessing.Value("i", 1)
""",
    "asyncio": """
import asyncio, sys
async def main():
    async def answer(reader, writer):
        writer.write(await reader.readline()); writer.close()
    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    writer.write(b"hello\\n")
    assert await reader.readline() == b"hello\\n"
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(1)", stdout=-1)
    assert (await child.communicate())[0] == b"1\\n"
    await asyncio.to_thread(print)
    await asyncio.get_running_loop().run_in_executor(None, asyncio.run, asyncio.sleep(0))
asyncio.run(main())
""",
    "subprocess": """
import os, pty, subprocess
assert subprocess.run("ls / | sort | head -1", shell=True, capture_output=True).stdout
subprocess.run(["cp", "/etc/hosts", "h"], check=True)
subprocess.run(["tail", "h"], check=True)
subprocess.run(["bash", "-c", "ulimit -n 50; mkfifo p; test -p p"], check=True)
assert pty.spawn(["true"]) == 0
""",
    "sqlite3": """
import sqlite3
with sqlite3.connect("a.db") as base:
    base.execute("pragma journal_mode=wal"); base.execute("create table t (a)")
""",
    "files": """
import fcntl, mmap, os, resource, shutil, signal, socket, tempfile, time
from pathlib import Path
os.mkdir("sub"); Path("sub/a").write_text("x" * 10_000)
shutil.copy2("sub/a", "a"); shutil.copytree("sub", "copy")
with open("a", "r+b") as file, mmap.mmap(file.fileno(), 0) as view:
    fcntl.flock(file, fcntl.LOCK_EX); view[0] = 65; view.flush()
    os.posix_fallocate(file.fileno(), 0, 9)
os.utime("a"); os.chmod("a", 0o600); os.link("a", "d"); os.mkfifo("f"); os.sync()
tempfile.TemporaryFile().write(b"x")
resource.setrlimit(resource.RLIMIT_NOFILE, (100, 100))
resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE)
signal.setitimer(signal.ITIMER_REAL, 60); time.sleep(0.001)
os.nice(1); os.sched_setaffinity(os.getpid(), os.sched_getaffinity(0))
os.setpriority(os.PRIO_PROCESS, os.getpid(), 2)
os.getloadavg(); os.getrandom(3); os.cpu_count()
socket.if_nameindex(); socket.getaddrinfo("localhost", 80)
""",
}


@pytest.mark.parametrize("name", NEEDED)
def test_calls_that_programs_need_work(name: str, tmp_path: Path) -> None:
    # A program in its own file, as in a sandbox: `spawn` reads it again.
    (tmp_path / "main.py").write_text(NEEDED[name])
    start = "import os, sys; os.execv(sys.executable, [sys.executable, '-P', 'main.py'])"
    ran = run(start, at=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, b""), ran


HOSTILE = """
import ctypes, errno, fcntl, json, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    ctypes.set_errno(0)
    libc.syscall(ctypes.c_long(number), *(ctypes.c_long(word) for word in words))
    return errno.errorcode.get(ctypes.get_errno(), "")
def attempt(do):
    try:
        do()
    except OSError as error:
        return errno.errorcode[error.errno]
    return ""
numbers = json.loads(sys.argv[1])
found = {name: call(number, *words) for name, (number, words) in numbers.items()}
found["vsock"] = attempt(lambda: socket.socket(40, socket.SOCK_STREAM))
found["alg"] = attempt(lambda: socket.socket(38, socket.SOCK_SEQPACKET))
found["packet"] = attempt(lambda: socket.socket(17, socket.SOCK_RAW))
found["raw"] = attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1))
found["sctp"] = attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 132))
found["netfilter"] = attempt(lambda: socket.socket(16, socket.SOCK_RAW, 12))
found["typing"] = attempt(lambda: fcntl.ioctl(os.openpty()[1], 0x5412, b"x"))
found["device"] = attempt(lambda: os.mknod(f"null-{os.getpid()}", 0o20666, os.makedev(1, 3)))
print(json.dumps(found))
"""
# Without the filter, each call would succeed, or fail in another way: the program runs as root with
# all rights.
CALLS = {
    "ptrace": (101, (0, 0, 0, 0)),  # PTRACE_TRACEME
    "unshare": (272, (0,)),
    "keyctl": (250, (0, -3, 0)),  # the session's keyring
    "personality": (135, (0x40000,)),
    "adjtimex": (159, (0,)),
    "syslog": (103, (10, 0, 0)),  # the size of the kernel's log
    "process_vm_readv": (310, (0, 0, 0, 0, 0, 0)),
    "io_uring_setup": (425, (1, 0)),
    "memfd_create": (319, (0, 0)),
    "clone3": (435, (0, 0)),
    "seccomp": (317, (2, 0, 0)),
    "prctl seccomp": (157, (22, 2, 0, 0, 0)),
    "prlimit of init": (302, (1, 7, 1, 0)),
    "affinity of init": (203, (1, 8, 0)),
    "scheduler of init": (144, (1, 0, 0)),
    "niceness of a user": (141, (2, 4_000_000_123, 0)),
    "newer than known": (500, ()),
}
EXPECTED = {
    **dict.fromkeys(CALLS, "EPERM"),
    **dict.fromkeys(("io_uring_setup", "memfd_create", "clone3", "newer than known"), "ENOSYS"),
    **dict.fromkeys(("vsock", "alg", "packet", "raw", "sctp", "netfilter"), "EAFNOSUPPORT"),
    "prctl seccomp": "EINVAL",
    "typing": "ENOTTY",
    "device": "EPERM",
}

# mov eax, 20 (getpid of 32 bits); int 0x80; ret -- and getpid by x32's number
FOREIGN = """
import ctypes, mmap, sys
if sys.argv[1] == "i386":
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(bytes.fromhex("b814000000cd80c3"))
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    print(call())
else:
    print(ctypes.CDLL(None).syscall(ctypes.c_long(0x40000000 | 39)))
"""


def test_calls_that_attacks_need_fail_only_with_the_filter(tmp_path: Path) -> None:
    assert platform.machine() == "x86_64", "the numbers above are this machine's"
    ran = run(HOSTILE, json.dumps(CALLS), at=tmp_path)
    assert ran.stderr == b""
    assert json.loads(ran.stdout) == EXPECTED
    control = json.loads(run(HOSTILE, json.dumps(CALLS), at=tmp_path, filtered=False).stdout)
    same = {name for name, answer in control.items() if answer == EXPECTED[name]}
    # If this kernel lacks a call, its error is the same as the filter's.
    assert same <= {"newer than known", "vsock", "alg", "io_uring_setup", "sctp"}


@pytest.mark.parametrize("kind", ["i386", "x32"])
def test_a_foreign_call_kills(kind: str, tmp_path: Path) -> None:
    assert run(FOREIGN, kind, at=tmp_path).returncode == -signal.SIGSYS
    assert run(FOREIGN, kind, at=tmp_path, filtered=False).returncode != -signal.SIGSYS
