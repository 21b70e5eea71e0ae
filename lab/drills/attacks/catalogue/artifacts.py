"""Files that go into a sandbox or come out of it have effects that files must not have."""

from __future__ import annotations

import contextlib
import gzip
import io
import mmap
import os
import shutil
import signal
import socket
import stat
import struct
import sys
import tarfile
import time
import unicodedata
import zipfile
from collections.abc import Iterable

from api.http.answers import untrusted_headers
from lab.drills.attacks.attack import BaselineControl, Inputs, RaisedLimits, attack
from lab.drills.attacks.catalogue.artifact_check import (
    collected_and_next,
    exchange,
    honest_work,
    naive_collection,
    outrun,
    restless,
    trap,
)
from lab.drills.attacks.context import Context
from lab.drills.attacks.judges import broken, judged
from lab.drills.attacks.outcome import AttackVerdict
from lab.drills.attacks.probes.primitives import allowed, write
from sandbox.media import media_type
from sandbox.protocol import MIB, End, Limits

HONEST = {"comes": ["honest.txt"]}
INPUT = {"input.txt": b"input\n"}


# Links


@trap(files=INPUT, inputs={**HONEST, "never": ["environ.txt", "passwd.txt", "input.txt"]})
def symlink_file(inputs: Inputs) -> str | None:
    """Leaves symbolic links to files of the host, absolute and through many parents."""
    honest_work()
    os.remove("input.txt")
    os.symlink(inputs["files"][0], "input.txt")
    for number, path in enumerate(inputs["files"]):
        os.symlink(path, f"plot-{number}.png")
        os.symlink("../" * 20 + path.lstrip("/"), f"relative-{number}.png")
        os.symlink(f"/proc/self/root{path}", f"magic-{number}.png")
    os.symlink("/proc/self/environ", "environ.txt")
    os.symlink("/etc/passwd", "passwd.txt")
    return naive_collection(inputs)


@trap(files={"input/data.txt": b"input\n"}, inputs={**HONEST, "never": ["input/data.txt"]})
def symlink_directory(inputs: Inputs) -> str | None:
    """Leaves symbolic links to folders of the host, one of them instead of a sent folder."""
    honest_work()
    shutil.rmtree("input")
    os.symlink(os.path.dirname(inputs["files"][0]), "input")
    os.makedirs("deep/er")
    for number, path in enumerate(inputs["files"]):
        os.symlink(os.path.dirname(path), f"deep/er/folder-{number}")
    os.symlink("/", "root")
    return naive_collection(inputs)


@trap(inputs=HONEST)
def symlink_loop(inputs: Inputs) -> str | None:
    """Leaves links that lead to themselves, to each other, and to their own folder."""
    honest_work()
    os.symlink("self", "self")
    os.symlink("pong", "ping")
    os.symlink("ping", "pong")
    os.mkdir("a")
    for number in range(40):
        os.symlink("..", f"a/up-{number}")
    return naive_collection(inputs)


@trap(control=BaselineControl(root=True))
def hardlink(inputs: Inputs) -> str | None:
    """Links host files, and files of the system, into its work area under a second name."""
    own_paths = (os.__file__, sys.executable, "/etc/passwd", "/proc/self/environ", "/run/main.py")
    for number, path in enumerate((*inputs["files"], *own_paths)):
        for follow in (True, False):
            try:
                os.link(path, f"x{number}.txt", follow_symlinks=follow)
            except OSError:
                continue
            os.unlink(f"x{number}.txt")
            return f"{path} has a second name in the work area"
    # By its descriptor, as for a file that was opened elsewhere.
    with open(os.__file__, "rb") as file:
        try:
            os.link(f"/proc/self/fd/{file.fileno()}", "x.txt", follow_symlinks=True)
        except OSError:
            return None
    os.unlink("x.txt")
    return "an open library file has a second name in the work area"


@trap(inputs=HONEST)
def hardlink_bomb(inputs: Inputs) -> str | None:
    """Gives one large file nine hundred names: little to store, gigabytes to collect."""
    honest_work()
    write("x-0.bin", bytes(16 << 20))
    for number in range(1, 900):
        os.link("x-0.bin", f"x-{number}.bin")
    return naive_collection(inputs)


# Races


@trap()
def swap_file(inputs: Inputs) -> str | None:
    """Swaps a file and a link to a file of the host, again and again, while the run ends."""
    write("plot.png", "honest work\n")
    os.symlink(inputs["files"][0], "link")
    pid = restless(inputs, exchange("plot.png", "link"))
    return outrun(inputs, "plot.png", "plot.png", pid) if inputs["naive"] else None


@trap()
def swap_directory(inputs: Inputs) -> str | None:
    """Swaps a folder and a link to a folder of the host, again and again, while the run ends."""
    home, _, name = inputs["files"][0].rpartition("/")
    os.makedirs("out/in")
    for folder in ("out", "out/in"):
        write(f"{folder}/{name}", "honest work\n")
    os.symlink(home, "link")
    pid = restless(inputs, exchange("out", "link"))
    if inputs["naive"]:
        return outrun(inputs, f"out/{name}", "out", pid)
    os.symlink(home, "link-in")
    restless(inputs, exchange("out/in", "link-in"))
    return None


@trap(drive=collected_and_next)
def growing_file(inputs: Inputs) -> str | None:
    """Continues to write to a file while it is collected, beyond its announced size."""
    log = os.open("log.txt", os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o644)

    def grow() -> None:
        if not allowed(os.write, log, bytes(65_536)):
            os.ftruncate(log, 0)

    grow()
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    pid = restless(inputs, grow)
    if not inputs["naive"]:
        return None
    try:
        for _ in range(10_000):
            announced = os.path.getsize("log.txt")
            with open("log.txt", "rb") as file:
                if (size := len(file.read(1 << 26))) != announced:
                    return f"{announced} bytes announced, {size} sent"
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.remove("log.txt")
    return None


ALLOWED_SECONDS, CONTROL_SECONDS = 2.0, 0.05
"""The seconds after the end in which a process may still write: a kill takes time under load."""


async def dead_before_it_is_read(context: Context) -> AttackVerdict:
    observation = await context.run()
    data = observation.result.changed.get("clock.bin", b"")
    if len(data) != 16 or not any(data):
        return broken(f"the file did not come: {observation.result.end}, {data!r}")
    (seconds, _) = struct.unpack("dd", data)
    late = seconds > (CONTROL_SECONDS if context.is_control else ALLOWED_SECONDS)
    return judged(observation, [f"written to {seconds:.3f} s after the run's end"] if late else [])


@attack(drive=dead_before_it_is_read)
def writes_after_exit(inputs: Inputs) -> str | None:
    """Leaves a process that writes, through shared memory, into a file of an ended run."""
    with open("clock.bin", "w+b") as file:
        file.write(bytes(16))
        file.flush()
        shared = mmap.mmap(file.fileno(), 16)
    parent, start = os.getpid(), [0.0]

    def tick() -> None:
        if os.getppid() != parent:
            start[0] = start[0] or time.monotonic()
            shared[:16] = struct.pack("dd", time.monotonic() - start[0], 1)
        else:
            shared[:16] = struct.pack("dd", 0, 1)
            time.sleep(0.0005)

    restless(inputs, tick)
    while shared[8:16] == bytes(8):
        time.sleep(0.001)
    return None


# Files of other kinds, rights and places


@trap(files=INPUT, inputs={**HONEST, "never": ["a.png", "input.txt", "z.csv"]})
def fifo(inputs: Inputs) -> str | None:
    """Leaves named pipes, one of them instead of a sent file: opening a pipe waits."""
    honest_work()
    os.remove("input.txt")
    for name in ("a.png", "input.txt", "z.csv"):
        os.mkfifo(name)
    return naive_collection(inputs)


@trap(inputs={**HONEST, "never": ["a.png", "device.png"]})
def special_files(inputs: Inputs) -> str | None:
    """Leaves a socket, and the only device node that every user may make (0, 0)."""
    honest_work()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("a.png")
    allowed(os.mknod, "device.png", stat.S_IFCHR | 0o666, os.makedev(0, 0))
    for kind in (stat.S_IFCHR, stat.S_IFBLK):
        if allowed(os.mknod, "null", kind | 0o666, os.makedev(1, 3)):
            os.remove("null")
            return "a device node of a real device in its work area"
    return naive_collection(inputs)


@trap(files=INPUT, inputs=HONEST, drive=collected_and_next)
def unreadable(inputs: Inputs) -> str | None:
    """Closes its files and folders: mode 000, not to be entered, not to be listed."""
    honest_work()
    for mode in (0o000, 0o111, 0o222, 0o444, 0o1000):
        os.makedirs(f"folder-{mode}/in")
        for path in (f"folder-{mode}/x", f"folder-{mode}/in/x", f"file-{mode}"):
            write(path, "locked\n")
            os.chmod(path, mode)
        os.chmod(f"folder-{mode}/in", mode)
        os.chmod(f"folder-{mode}", mode)
    if inputs["naive"]:  # if these two belong to another user
        return naive_collection(inputs)
    for path in ("input.txt", "."):
        os.chmod(path, 0)
    return None


@trap(files=INPUT, drive=collected_and_next)
def removed_work(inputs: Inputs) -> str | None:
    """Removes the work area during its collection, as far as possible."""
    top = os.getcwd()
    if inputs["naive"]:
        os.mkdir("gone")
        os.chdir("gone")
        os.rmdir(f"{top}/gone")
        try:
            return f"it collects {os.listdir(os.getcwd())}"
        except OSError as error:
            return f"a collector that asks for its place again fails: {error}"
    for attempted in (shutil.rmtree, os.rmdir, lambda place: os.rename(place, "/tmp/elsewhere")):
        allowed(attempted, top)
    if allowed(os.symlink, os.path.dirname(inputs["files"][0]), top):
        return f"{top} is a link now"
    return None


MANY = {f"d{number % 20}/{number}.txt": b"input\n" for number in range(900)}


async def reported_as_deleted(context: Context) -> AttackVerdict:
    observation = await context.run()
    faults = [
        f"reported, though never given: {path}" for path in observation.result.deleted - MANY.keys()
    ]
    replaced = observation.result.links.keys()
    faults += [
        f"not reported: {path}" for path in MANY.keys() - observation.result.deleted - replaced
    ]
    faults += [f"came: {path}" for path in observation.result.changed]
    return judged(observation, sorted(faults))


@attack(files=MANY, drive=reported_as_deleted)
def deletions() -> str | None:
    """Deletes a thousand sent files, and puts folders, links and pipes in their places."""
    for name in sorted(os.listdir(".")):
        shutil.rmtree(name)
    os.mkdir("d1")
    kinds = (os.mkdir, os.mkfifo, lambda place: os.symlink("/etc/passwd", place))
    for number in range(1, 900, 20):
        kinds[number % 3](f"d1/{number}.txt")
    os.symlink("d1", "d2")
    return None


# Names


NAMES = (
    *("new\nline.png", "car\rriage.png", "tab\t.png", "\x1b[2J\x1b]0;title\x07.png", "del\x7f.png"),
    *("c1\x9b31m.png", "over\u202egnp.exe", "line\u2028.png", "iso\u2066late.png", "nel\x85.png"),
    *("-rf", "--help", "~", "$(id)", "`id`", ";id", "a b ", ".hidden", "...", "C:\\x", "..\\..\\x"),
    *("%2e%2e%2fx", "con.png", "a:b", "x" * 255, "\U0001f4a5.png", "zero\u200bwidth.png"),
)
RAW = (b"\xff\xfe.png", b"half\xc3", b"surrogate\xed\xa0\x80.png", b"overlong\xc0\xaf.png")


@trap(inputs=HONEST)
def odd_names(inputs: Inputs) -> str | None:
    """Leaves names that control a terminal, mislead a path library, or break a decoder."""
    honest_work()
    for name in (*map(os.fsencode, NAMES), *RAW):
        os.mkdir(b"in-" + name[:200])
        for path in (name, b"in-" + name[:200] + b"/x"):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY))
        os.symlink(b"/etc/passwd", b"to-" + name[:200])
    long = ""
    for _ in range(12):
        long += "y" * 200 + "/"
        os.mkdir(long)
    os.close(os.open(f"{long}z", os.O_CREAT | os.O_WRONLY))
    return naive_collection(inputs)


ALIKE = (
    *("report.txt", "REPORT.TXT", "Report.txt"),
    *("caf\u00e9.txt", "cafe\u0301.txt", "\u017ftats", "stats"),
)
"""Each file contains its own name, so that an exchange of two files is noticed."""


async def kept_by_name(context: Context) -> AttackVerdict:
    """In a control, names are normalized as some file systems do, so that files collide."""
    observation = await context.run()
    files = observation.result.changed
    if context.is_control:
        files = {unicodedata.normalize("NFC", name).casefold(): files[name] for name in files}
    mixed = [name for name in ALIKE if files.get(name, b"").decode() != name]
    return judged(observation, [f"other bytes, or none, under {name!a}" for name in mixed])


@attack(drive=kept_by_name)
def colliding_names() -> str | None:
    """Leaves names that are equal if letters' case or their composition is ignored."""
    for name in ALIKE:
        write(name, name)
    return None


@trap(inputs=HONEST, drive=collected_and_next)
def deep_directories(inputs: Inputs) -> str | None:
    """Leaves a thousand nested folders: no path can name the file at the bottom."""
    honest_work()
    top = os.open(".", os.O_RDONLY)
    for _ in range(1_000):
        os.mkdir("deeper-and-deeper")
        os.chdir("deeper-and-deeper")
    write("bottom.txt", "bottom\n")
    os.fchdir(top)
    return naive_collection(inputs)


@trap(ends=frozenset({End.DISK}), drive=collected_and_next)
def many_files(inputs: Inputs) -> str | None:
    """Leaves a hundred thousand files."""
    count = 0
    try:
        for number in range(6 if inputs["naive"] else 100):
            os.mkdir(f"d{number}")
            for index in range(1_000):
                os.close(os.open(f"d{number}/{index}", os.O_CREAT | os.O_WRONLY))
                count += 1
    except OSError:  # a sandbox has fewer inodes
        pass
    if count < 5_000:
        raise AssertionError(f"only {count} files could be made")
    return naive_collection(inputs)


# Contents


ARCHIVES = ["bomb.zip", "out.zip", "out.tar", "layer.tar", "bomb.gz", "honest.txt"]


@trap(inputs={**HONEST, "only": ARCHIVES})
def archives(inputs: Inputs) -> str | None:
    """Leaves archives: bombs, paths that lead out, links. They are bytes, and stay bytes."""
    with zipfile.ZipFile("bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros", bytes(48 << 20))
    with zipfile.ZipFile("out.zip", "w") as archive:
        archive.writestr(f"../../../../tmp/{inputs['mark']}", "out")
    with gzip.open("bomb.gz", "wb") as file:
        file.write(bytes(48 << 20))
    for name in ("out.tar", "layer.tar"):
        with tarfile.open(name, "w") as tar:
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/tmp"
            tar.addfile(link)
            inside = tarfile.TarInfo(f"link/{inputs['mark']}")
            inside.size = 3
            tar.addfile(inside, io.BytesIO(b"out"))
    honest_work()
    if not inputs["naive"]:
        return None
    with zipfile.ZipFile("bomb.zip") as archive:
        size = sum(member.file_size for member in archive.infolist())
    return f"{os.path.getsize('bomb.zip')} bytes unpack to {size}"


PAGE = "<!doctype html><script>alert(1)</script>"
DRAWING = '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
LIES = {
    "plot.png": PAGE,
    "photo.jpg": DRAWING,
    "anim.gif": f"GIF89a/*{PAGE}",
    "notes.txt": PAGE,
    "page.html": PAGE,
    "drawing.svg": DRAWING,
    "run.js": "alert(1)",
    "plot.png.html": PAGE,
}
PICTURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/webp": b"RIFF"}


async def served(context: Context) -> AttackVerdict:
    """In a control, the API's headers are left out, as a naive server would do."""
    observation = await context.run()
    if observation.result.changed.keys() != LIES.keys():
        return broken(f"came: {sorted(observation.result.changed)}")
    faults = []
    for name, data in observation.result.changed.items():
        kind = media_type(name, data)
        sent = {} if context.is_control else untrusted_headers(name, kind, "0" * 64)
        faults += [
            f"{name} is served as {kind}: {reason}" for reason in served_wrongly(kind, data, sent)
        ]
    return judged(observation, faults)


def served_wrongly(kind: str, data: bytes, sent: dict[str, str]) -> list[str]:
    faults = []
    if not data.startswith(PICTURES.get(kind, b"")):
        faults.append("its bytes are none of the kind")
    if sent.get("X-Content-Type-Options") != "nosniff":
        faults.append("a browser may think otherwise")
    if "sandbox" not in sent.get("Content-Security-Policy", ""):
        faults.append("a page may act")
    is_inline = sent.get("Content-Disposition", "inline").startswith("inline")
    if is_inline and ("html" in kind or "svg" in kind or "script" in kind):
        faults.append("a page is shown in place")
    return faults


@attack(drive=served)
def media_lies() -> str | None:
    """Gives web pages, active drawings and programs the names of pictures."""
    for name, text in LIES.items():
        write(name, text)
    return None


# On the way in


PATHS = (
    *("../escaped", "a/../../escaped", "/tmp/fettle-escaped", "/work/x", "//x", "./x", "a/./x"),
    *("a//x", "", ".", "..", "a/", "a/..", "/", "x\0y", "x\ny", "x\x1b[2J", "x\ud800", "\udcff"),
    *("a/" * 40 + "x", "x" * 256, "/".join(["y" * 200] * 6), "x\x7f", "x\r", "x\x9b31m"),
    *("x\u202egnp", "x\u2028"),
)


async def none_is_taken(context: Context, loads: Iterable[dict[str, bytes]]) -> AttackVerdict:
    """Send each of these files; then send some valid files, for the probe to look around."""
    for load in loads:
        with contextlib.suppress(ValueError):
            observation = await context.run(files=load)
            size = f"{len(load)} files of {sum(map(len, load.values()))} bytes"
            return judged(observation, [f"it was taken: {ascii(next(iter(load)))[:80]}, {size}"])
    return judged(await context.run(files={"fine/x.txt": b"fine\n"}), [])


async def given_by_odd_paths(context: Context) -> AttackVerdict:
    """A control sends only the first path, which leads no further than its own folder."""
    paths = PATHS[:1] if context.is_control else PATHS
    return await none_is_taken(
        context, [*({path: b"escaped\n"} for path in paths), {"a": b"file", "a/b": b"in it"}]
    )


@attack(drive=given_by_odd_paths)
def way_in_paths() -> str | None:
    """Sends files with paths that lead out of the work area, or that have two meanings."""
    for folder in ("..", "/tmp", "/run", "/"):
        if escaped := [name for name in os.listdir(folder) if "escaped" in name]:
            return f"written outside of the work area: {folder}/{escaped[0]}"
    return None


SMALL = Limits(workspace_bytes=4 * MIB, workspace_files=50, file_bytes=4 * MIB)
LARGE = Limits(workspace_bytes=16 * MIB, workspace_files=200, file_bytes=8 * MIB)


async def given_too_much(context: Context) -> AttackVerdict:
    loads = (
        {f"{number}.bin": bytes(MIB) for number in range(5)},
        {f"{number}.txt": b"" for number in range(51)},
        {"one.bin": bytes(4 * MIB + 1)},
    )
    return await none_is_taken(context, loads)


@attack(limits=SMALL, control=RaisedLimits(LARGE), drive=given_too_much)
def way_in_sizes() -> None:
    """Sends more files, and more bytes, than a work area may have."""
