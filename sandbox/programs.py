"""The programs that code finds on its PATH: a fixed list, as far as the machine has them, and the
programs of the interpreter's environment.

The list does not isolate: `/usr` is readable, so code can start another program by its full path.
The list makes command lines mean the same on each machine, and prompts describe the shell by it.

See ADR 51.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox import policy

BIN_DIRECTORY: Final = "/opt/bin"
"""`local`: the directory of symbolic links to the programs of the list."""

SHELLS = ("bash", "sh", "dash")
COREUTILS = (
    *("b2sum", "base32", "base64", "basename", "basenc", "cat", "chmod", "cksum", "comm", "cp"),
    *("csplit", "cut", "date", "dd", "df", "dir", "dirname", "du", "echo", "env", "expand"),
    *("expr", "factor", "false", "fmt", "fold", "head", "id", "install", "join", "link", "ln"),
    *("ls", "md5sum", "mkdir", "mkfifo", "mktemp", "mv", "nice", "nl", "nohup", "nproc"),
    *("numfmt", "od", "paste", "pathchk", "pr", "printenv", "printf", "ptx", "pwd", "readlink"),
    *("realpath", "rm", "rmdir", "seq", "sha1sum", "sha224sum", "sha256sum", "sha384sum"),
    *("sha512sum", "shred", "shuf", "sleep", "sort", "split", "stat", "stdbuf", "stty", "sum"),
    *("sync", "tac", "tail", "tee", "test", "timeout", "touch", "tr", "true", "truncate"),
    *("tsort", "tty", "uname", "unexpand", "uniq", "unlink", "vdir", "wc", "whoami", "yes", "["),
)
TEXT = (
    *("awk", "mawk", "gawk", "cmp", "column", "diff", "diff3", "egrep", "fgrep", "file", "find"),
    *("grep", "patch", "rev", "sed", "which", "xargs", "rg", "git"),
)
ARCHIVES = ("bunzip2", "bzip2", "gunzip", "gzip", "tar", "unxz", "unzip", "xz", "zcat", "zip")
PROCESSES = ("kill", "pgrep", "pkill", "ps", "getopt", "flock")

PROGRAMS = (*SHELLS, *COREUTILS, *TEXT, *ARCHIVES, *PROCESSES)

EXCLUDED_SCRIPTS = "pip*"
"""A sandbox has no network from which pip could install."""


def environment_scripts(environment: Path) -> Iterator[tuple[str, bytes]]:
    """The programs that pip installed in a virtual environment, such as `pytest`: name and text.

    The first line of such a program names the interpreter by its path on this machine. A sandbox
    shows the environment at another path, so the text here has that path.
    """
    host_prefix = f"#!{environment.absolute()}/bin/".encode()
    for path in sorted((environment / "bin").iterdir()):
        if path.is_file() and not path.is_symlink() and not path.match(EXCLUDED_SCRIPTS):
            data = path.read_bytes()
            if data.startswith(host_prefix):
                yield path.name, data.replace(host_prefix, f"#!{policy.VENV}/bin/".encode(), 1)
