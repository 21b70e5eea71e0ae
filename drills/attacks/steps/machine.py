"""Machine code, called from Python. Runs in a room, from its source."""

from __future__ import annotations


def execute(code: str) -> int:
    """Put these bytes (hex) into memory of their own, call them, tell what they leave in eax."""
    import ctypes
    import mmap

    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(bytes.fromhex(code))
    place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    return int(ctypes.CFUNCTYPE(ctypes.c_int)(place)())
