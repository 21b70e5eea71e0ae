"""Opens files by number instead of by name, past every mount: open_by_handle_at."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import call


def probe(given: dict[str, Any]) -> str | None:
    import ctypes
    import os
    import struct

    arm = os.uname().machine == "aarch64"
    name_to_handle, open_by_handle = (264, 265) if arm else (303, 304)
    for path in (".", "/", "/usr", "/etc/hosts", "/tmp"):
        place = os.open(path, os.O_RDONLY)
        # The root of most file systems on a disk: inode 2, of any generation.
        root = ctypes.create_string_buffer(struct.pack("=IiII", 8, 1, 2, 0), 136)
        named = ctypes.create_string_buffer(struct.pack("=Ii", 128, 0), 136)
        mount = ctypes.c_int()
        if call(name_to_handle, -100, path, named, ctypes.byref(mount), 0) >= 0:
            return f"a handle of {path}"
        for handle in (named, root):
            if call(open_by_handle, place, handle, os.O_RDONLY) >= 0:
                return f"a file by its handle, through {path}"
        os.close(place)
    return None


ATTACK = Attack(probe, expects="both calls are refused", control=Bare(root=True), uses=(call,))
