"""The programs of both sides, and their expected outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PNG: Final = b"\x89PNG\r\n\x1a\n"
LEAST_BYTES: Final = 5_000
"""The smallest size of a picture with a curve in bytes; an empty picture is smaller."""

_PLOT: Final = """\
import numpy as np
import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
x = np.linspace(0, 10, 200)
plt.plot(x, np.sin(x))
plt.title("a sine")
plt.savefig("plot.png")
print(len(x))
"""


@dataclass(frozen=True, slots=True)
class BenchmarkProgram:
    """A program, and the output and the picture that it must make on both sides."""

    name: str
    code: str
    expected_stdout: str
    expected_file: str | None = None
    """The picture's name; None: the program makes no file."""

    def check(self, stdout: str, files: dict[str, bytes]) -> None:
        """Fail if a side has another output than expected."""
        assert stdout == self.expected_stdout, stdout
        if self.expected_file is not None:
            picture = files[self.expected_file]
            assert picture.startswith(PNG), self.name
            assert len(picture) > LEAST_BYTES, self.name


PRINT: Final = BenchmarkProgram("print(1)", "print(1)", "1\n")
PLOT: Final = BenchmarkProgram("plot", _PLOT, "200\n", expected_file="plot.png")
