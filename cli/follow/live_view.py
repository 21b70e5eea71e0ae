"""The live view of a job: its events as they come, and totals below them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from api.quantities import plural, spent
from cli.client.events import Event
from cli.client.files import TextOf
from cli.follow.token_stream import StreamedText
from cli.follow.totals import Totals
from cli.output import Screen
from cli.render.events import file_parts, parts
from cli.render.runs import Detail


class LiveView:
    """Shows events on a screen. Use it as a context; `pause` takes the footer off for a prompt.

    `text_of` fetches the text of a file that a tool has written.
    """

    def __init__(self, screen: Screen, detail: Detail, text_of: TextOf) -> None:
        self._text_of = text_of
        self._screen = screen
        self._detail = detail
        self.footer = _Footer()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        self.resume()
        return self

    def __exit__(self, *_: object) -> None:
        self.pause()

    def resume(self) -> None:
        """Show the footer, on a terminal."""
        if self._screen.drawing and self._live is None:
            console = self._screen.console
            self._live = Live(self.footer, console=console, transient=True, refresh_per_second=10)
            self._live.start()

    def pause(self) -> None:
        """Take the footer off."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def hear(self, said: Mapping[str, Any]) -> None:
        """Show below the footer what models write, until the event of a finished call."""
        before = self.footer.streamed.get(said["call"], StreamedText())
        self.footer.streamed = {**self.footer.streamed, said["call"]: before.heard(said)}

    def show(self, event: Event) -> None:
        """Show an event, and what it changes."""
        if event.kind == "model_called":
            self.footer.streamed = {}
        self.footer.totals = self.footer.totals.after(event)
        if event.final:  # `outcome_parts` shows how the job ended
            return
        self._screen.parts(parts(event, self._detail))
        self._screen.parts(file_parts(event, self._text_of, self._detail))


class _Footer:
    """A spinner and the totals; below it, the lines that models are writing."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.streamed: Mapping[str, StreamedText] = {}
        self._begun = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame = self._spinner.render(console.get_time())
        line = Text.assemble((str(frame), "cyan"), "  ", (self._totals(), "dim"))
        line.no_wrap = True
        line.truncate(options.max_width, overflow="ellipsis")
        yield line
        for streamed in self.streamed.values():
            if text := streamed.last_line(options.max_width - 5):
                yield Text(f"   {text}", "dim italic", no_wrap=True, overflow="ellipsis")

    def _totals(self) -> str:
        totals = self.totals
        shown = [f"{time.monotonic() - self._begun:.0f} s"]
        if totals.at:
            shown.append(f"step {', '.join(map(str, sorted(totals.at)))} of {totals.steps}")
        if totals.revision > 1:
            shown.append(f"revision {totals.revision}")
        if totals.tokens or totals.unreported:
            cost = spent(totals.spend())
            shown += [plural(totals.calls, "call"), plural(totals.runs, "run"), cost]
        return " · ".join(shown)
