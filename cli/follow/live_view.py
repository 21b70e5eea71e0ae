"""The live view of a job: a line for each event as it comes, below them where the job stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from api.quantities import money, plural
from cli.client.events import Event
from cli.follow.token_stream import StreamedText
from cli.follow.totals import Stage, Totals, after
from cli.output import Screen
from cli.render.events import parts
from cli.render.parts import Code
from cli.render.runs import Detail
from cli.render.words import clip, printable

TRACK = {Stage.PLAN: "plan", Stage.CODE: "code", Stage.REVIEW: "review", Stage.VERDICT: "verdict"}


class LiveView:
    """Shows events on a screen. Use it as a context; `pause` takes the footer off for a prompt.

    `text_of` fetches the text of a file that a tool has written; None where it has none to show.
    """

    def __init__(
        self, screen: Screen, detail: Detail, text_of: Callable[[Mapping[str, Any]], str | None]
    ) -> None:
        self.totals = Totals()
        self._text_of = text_of
        self._screen = screen
        self._detail = detail
        self._footer = _Footer()
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
            self._live = Live(self._footer, console=console, transient=True, refresh_per_second=10)
            self._live.start()

    def pause(self) -> None:
        """Take the footer off."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def hear(self, said: Mapping[str, Any]) -> None:
        """Show below the footer what models say, until an event tells the whole of one; the others
        are heard on."""
        before = self._footer.streamed.get(said["call"], StreamedText())
        self._footer.streamed = {**self._footer.streamed, said["call"]: before.heard(said)}

    def show(self, event: Event) -> None:
        """Show an event, and what it changes."""
        if event.kind == "model_called":
            self._footer.streamed = {}
        self.totals = after(self.totals, event)
        self._footer.totals = self.totals
        if event.final:  # how the job ended is told with what came of it
            return
        self._screen.parts(parts(event, self._detail))
        if event.kind == "tool_used":
            for made in event.data.get("artifacts", ()):
                if text := self._text_of(made):
                    self._screen.part(Code(clip(printable(text), self._detail.code_lines)))


class _Footer:
    """A spinner, the stages with the present one lit, and what has been spent; below it, the lines
    that models are writing."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.streamed: Mapping[str, StreamedText] = {}
        self._begun = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame = self._spinner.render(console.get_time())
        line = Text.assemble((str(frame), "cyan"), "  ", self._track(), (self._spent(), "dim"))
        line.no_wrap = True
        line.truncate(options.max_width, overflow="ellipsis")
        yield line
        for streamed in self.streamed.values():
            if not (words := streamed.last_words(options.max_width - 5)):
                continue
            yield Text(f"   {words}", "dim italic", no_wrap=True, overflow="ellipsis")

    def _track(self) -> Text:
        totals = self.totals
        track = Text()
        for stage, name in TRACK.items():
            if stage is Stage.REVIEW and not totals.reviewed:
                continue
            if track:
                track.append(" ━━ ", "green" if stage <= totals.stage else "dim")
            style = "green" if stage < totals.stage else "dim"
            track.append(name, "bold cyan" if stage is totals.stage else style)
        return track

    def _spent(self) -> str:
        totals = self.totals
        spent = ["", totals.doing, f"{time.monotonic() - self._begun:.0f} s"]
        if totals.at and totals.stage is Stage.CODE:
            spent.insert(1, f"step {', '.join(map(str, sorted(totals.at)))} of {totals.steps}")
        if totals.revision > 1:
            spent.append(f"revision {totals.revision}")
        if totals.tokens:
            cost = money(None if totals.cost is None else str(totals.cost))
            spent += [plural(totals.calls, "call"), plural(totals.runs, "run"), cost]
        return " · ".join(spent)
