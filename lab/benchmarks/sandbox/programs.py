"""The programs of both sides, and their expected outcomes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PNG: Final = b"\x89PNG\r\n\x1a\n"
LEAST_BYTES: Final = 5_000
"""A picture with a curve in it is larger than this; an empty one is not."""

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
class Program:
    """`said` is the expected output, `made` the expected file, if any."""

    name: str
    code: str
    said: str
    made: str | None = None

    def check(self, said: str, files: dict[str, bytes]) -> None:
        """Fail where a side has not done the same as the other."""
        assert said == self.said, said
        if self.made is not None:
            picture = files[self.made]
            assert picture.startswith(PNG), self.name
            assert len(picture) > LEAST_BYTES, self.name


PRINT: Final = Program("print(1)", "print(1)", "1\n")
PLOT: Final = Program("plot", _PLOT, "200\n", made="plot.png")
