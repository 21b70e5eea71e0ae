"""The programs that code finds on its PATH, beside those of its interpreter: the same on each
machine, as far as the machine has them.

This is no layer of isolation: `/usr` can be read, so code can start another program there by its
full path. It decides what a command line means, and what prompts say of the shell.

Why: docs/decisions/0051-prompts-name-what-is-there.md
"""

from __future__ import annotations

from typing import Final

PLACE: Final = "/opt/bin"
"""The directory of the symbolic links to them, in sandboxes of this machine's own."""

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
