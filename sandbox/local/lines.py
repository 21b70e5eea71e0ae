"""Which of the two lines of rooms a run is given. Pure.

A room is a copy of a process, and a copy of one that has numpy, pandas and matplotlib loaded costs
more than a short run does. So there are two lines: *plain* rooms have the standard library loaded,
*loaded* ones the usual libraries, too. Each room runs everything: a wrong guess costs time alone.
"""

from __future__ import annotations

from sandbox.order import PYTHON
from sandbox.protocol import Command
from sandbox.room.preload import INSTALLED

LIBRARIES = tuple(dict.fromkeys(word.partition(".")[0] for word in INSTALLED))
UPON_THEM = ("pylab", "mpl_toolkits", "scipy", "sklearn", "seaborn", "statsmodels", "skimage")
"""Libraries that import one of them."""
_WORDS = tuple(word.encode() for word in (*LIBRARIES, *UPON_THEM))


def wants_libraries(command: Command) -> bool:
    """Whether the command names one of the libraries, wherever it stands: in its words, which may
    be code, or in a Python file that it might import.

    What starts an interpreter of its own, or another program, has no use for what is loaded.
    """
    if not _runs_in_the_copy(command):
        return False
    if any(_names(word.encode(errors="replace")) for word in command.argv):
        return True
    return any(_names(data) for path, data in command.files.items() if path.endswith(".py"))


def _runs_in_the_copy(command: Command) -> bool:
    """Whether the room's own process runs it (`room/interpreter.py`), as far as can be told."""
    return (
        command.seed is None
        and command.argv[:1] == (PYTHON,)
        and command.argv[1:2] in {("-c",), ("-m",)}
    )


def _names(text: bytes) -> bool:
    return any(word in text for word in _WORDS)
