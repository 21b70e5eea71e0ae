"""The line editor of a chat, with history, completion, and a live view below the line."""

from __future__ import annotations

import io
import sys
import termios
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stderr,
    redirect_stdout,
)
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.input.vt100 import Vt100Input, cooked_mode
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.styles import Style
from rich.console import Console, RenderableType

from cli.chat.commands import complete
from cli.chat.output import ChatOutput
from cli.chat.user_state import open_history
from cli.follow.review_prompt import Later

REFRESH_SECONDS = 0.25
STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "bold ansimagenta"})


class ChatTerminal:
    """Reads lines while other threads print above them.

    `label`: the text before the line. `below`: the view below the line. `models`: the names that
    complete `/model`. Each is called again while the person types.
    """

    def __init__(
        self,
        folder: Path | None,
        label: Callable[[], str],
        below: Callable[[], RenderableType],
        models: Callable[[], Iterable[str]],
    ) -> None:
        self._below = below
        self._keys = keys = _Keys(sys.stdin)
        self._output = ChatOutput()
        self._lines: PromptSession[str] = PromptSession(
            lambda: [("class:prompt", f"{label()}> ")],
            history=open_history(folder),
            completer=_Completer(models),
            complete_in_thread=True,  # the service names the models
            complete_while_typing=Condition(lambda: self._lines.default_buffer.text[:1] == "/"),
            key_bindings=_bindings(),
            multiline=True,  # shows several lines; the key bindings decide which key ends them
            prompt_continuation=lambda _width, _line, wraps: "" if wraps else "... ",
            bottom_toolbar=self._toolbar,
            style=STYLE,
            input=keys,
        )
        self._answers: PromptSession[str] = PromptSession(input=keys, style=STYLE)

    @contextmanager
    def opened(self) -> Iterator[None]:
        """During the block, stdout is printed above the line. Between two lines the terminal keeps
        the keys for the next line. In its line mode, it would echo them into the output."""
        before = termios.tcgetattr(self._keys.fileno())
        tty.setcbreak(self._keys.fileno(), termios.TCSANOW)
        try:
            with redirect_stdout(self._output), redirect_stderr(self._output):
                yield
        finally:
            termios.tcsetattr(self._keys.fileno(), termios.TCSANOW, before)

    def line_mode(self) -> AbstractContextManager[None]:
        """The mode in which other code reads the terminal."""
        return cooked_mode(self._keys.fileno())

    def read(self, *, live: bool) -> str:
        """The next line; `live`: the view below changes. Raises EOFError and KeyboardInterrupt."""
        refresh = REFRESH_SECONDS if live else 0
        with self._output.above_line():
            return self._lines.prompt(refresh_interval=refresh, pre_run=self._output.start)

    def ask(self, question: str) -> str:
        """The answer to a question, without surrounding spaces; it is not in the history. Raises
        Later if the person leaves the question."""
        try:
            with self._output.above_line():
                return self._answers.prompt(
                    [("class:prompt", question)], pre_run=self._output.start
                ).strip()
        except (EOFError, KeyboardInterrupt):
            raise Later from None

    def _toolbar(self) -> ANSI:
        width = self._lines.output.get_size().columns
        console = Console(file=io.StringIO(), force_terminal=True, width=width, highlight=False)
        with console.capture() as drawn:
            console.print(self._below(), end="")
        return ANSI(drawn.get().rstrip("\n"))


class _Keys(Vt100Input):
    """The keys of the terminal. The terminal stays in raw mode while other threads print above the
    line. In its line mode, it would act on Ctrl-D and Ctrl-U itself, and echo each key."""

    def cooked_mode(self) -> AbstractContextManager[None]:
        """See prompt_toolkit.input.Input."""
        return nullcontext()


class _Completer(Completer):
    def __init__(self, models: Callable[[], Iterable[str]]) -> None:
        self._models = models

    def get_completions(self, document: Document, _event: CompleteEvent) -> Iterator[Completion]:
        line = document.text_before_cursor
        models = self._models() if line.startswith("/model ") else ()
        word = line.rpartition(" ")[2]
        for text in complete(line, models):
            yield Completion(text, start_position=-len(word))


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter")
    def end(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
