"""Gathering a process's memory into huge pages, so that copying the process copies 512 times less.

A fork copies an entry for every page, and the end of the copy lets go of each of them: with what
the usual libraries hold that is most of what a room costs. A copy that writes to a part of a huge
page gets an ordinary page of its own, as ever.

Source: man 2 madvise, MADV_COLLAPSE (Linux 6.1); older kernels refuse it, and nothing changes.
"""

from __future__ import annotations

import ctypes

_HUGE = 1 << 21  # of both architectures that there is a filter for, with pages of 4 KiB
_COLLAPSE = 25


def gather() -> None:
    """Collapse every stretch of this process's own memory that fills a huge page."""
    libc = ctypes.PyDLL(None)
    for start, end in _own():
        for at in range(-(-start // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
            # What cannot be collapsed (a part that was never touched, a kernel without it) stays.
            libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(_HUGE), _COLLAPSE)


def _own() -> list[tuple[int, int]]:
    """The mappings that are written to and belong to no file."""
    found = []
    with open("/proc/self/maps", encoding="ascii", errors="replace") as file:  # noqa: PTH123
        for line in file:
            places, rights, _, _, inode, *_ = line.split(maxsplit=5)
            if rights.startswith("rw") and inode == "0":
                start, _, end = places.partition("-")
                found.append((int(start, 16), int(end, 16)))
    return found
