"""The output of a chat: text from any thread, above the line that a person types."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from prompt_toolkit.application import get_app, get_app_session, in_terminal

PAUSE_SECONDS = 0.1
"""Between two outputs above the line, which is then drawn again."""


class ChatOutput(io.TextIOBase):
    """A stdout that prints in the order of its writes.

    `patch_stdout` of prompt_toolkit mixes the order if a line ends while a slow terminal has not
    yet reported the position of its cursor, and may lose a text at the end of a line.
    """

    def __init__(self) -> None:
        self._output = get_app_session().output
        self._lock = threading.Lock()
        self._text = ""
        """The text that is not printed yet."""
        self._is_typing = False
        """Whether a person types a line, so that only the application of this line prints."""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """See io.TextIOBase."""
        return self._output.encoding()

    def isatty(self) -> bool:
        """See io.IOBase."""
        return True

    def write(self, text: str) -> int:
        """See io.TextIOBase."""
        with self._lock:
            self._text += text
            if not self._is_typing:
                self._print()
        return len(text)

    @contextmanager
    def above_line(self) -> Iterator[None]:
        """During the block, which reads one line, print only above the line. The application of the
        line calls `start`."""
        with self._lock:
            self._is_typing = True
        try:
            yield
        finally:
            with self._lock:
                self._is_typing = False
                self._print()

    def start(self) -> None:
        """Begin to print above the line of the running application."""
        get_app().create_background_task(self._print_above())

    async def _print_above(self) -> None:
        while True:
            await asyncio.sleep(PAUSE_SECONDS)
            if "\n" in self._text:
                async with in_terminal():
                    with self._lock:
                        self._print()

    def _print(self) -> None:
        """Print the text; while a person types, only its complete lines."""
        end = self._text.rfind("\n") + 1 if self._is_typing else len(self._text)
        text, self._text = self._text[:end], self._text[end:]
        if text:
            self._output.enable_autowrap()
            self._output.write_raw(text)
            self._output.flush()
