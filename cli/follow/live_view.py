"""The live view of a job: its events as they come, and below them totals and the output that models
and runs are writing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from api.quantities import plural, spent
from cli.client.files import TextOf
from cli.output import Screen
from cli.render.events import parts
from cli.render.evidence import Detail
from cli.render.texts import printable
from cli.render.work_events import file_parts
from fettle.events import ReceivedEvent
from jobs.view.plan_work import PlanWork


@dataclass(frozen=True, slots=True)
class Totals:
    """`cost_usd` is the cost of the calls with a known cost. The other calls are `unpriced` (their
    price is unknown) or `unreported` (their usage is unknown)."""

    plan: PlanWork = field(default_factory=PlanWork)
    revision: int = 1
    calls: int = 0
    runs: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    unpriced: int = 0
    unreported: int = 0

    def after(self, event: ReceivedEvent) -> Totals:
        """The totals with one more event."""
        plan = self.plan.after(event.kind, event.data, round(event.at.timestamp() * 1000))
        return replace(self._after(event), plan=plan)

    def _after(self, event: ReceivedEvent) -> Totals:
        data = event.data
        match event.kind:
            case "run_finished":
                return replace(self, runs=self.runs + 1)
            case "model_called":
                tokens = data["input_tokens"] + data["output_tokens"]
                is_unknown = data["cost_usd"] is None
                return replace(
                    self,
                    calls=self.calls + 1,
                    tokens=self.tokens + tokens,
                    cost_usd=self.cost_usd + Decimal(data["cost_usd"] or 0),
                    unpriced=self.unpriced + (is_unknown and tokens > 0),
                    unreported=self.unreported + (is_unknown and tokens == 0),
                )
            case "critiqued" if data["verdict"] == "revise":
                return replace(self, revision=self.revision + 1)
            case "decided" if data["action"] in ("revise", "edit"):
                return replace(self, revision=self.revision + 1)
            case "begun_anew":
                return replace(self, revision=1, runs=0)
            case _:
                return self

    def steps_in_progress(self, now: float) -> Iterator[str]:
        """The steps in progress and the time of each, at the time `now` in seconds since 1970."""
        steps = self.plan.steps
        for number, step in enumerate(steps, 1):
            if step.since is not None:
                seconds = max(now - step.since / 1000, 0.0) + step.worked_ms / 1000
                yield f"step {number} of {len(steps)} for {seconds:.0f} s"

    def spend(self) -> dict[str, Any]:
        """The spend, as the API has it."""
        is_known = not (self.unpriced or self.unreported)
        return {
            "cost_usd": str(self.cost_usd) if is_known else None,
            "known_usd": str(self.cost_usd),
            "unpriced_calls": self.unpriced,
            "unreported_calls": self.unreported,
        }


_KEPT = 2_000
"""Characters that are kept to find the last line."""


@dataclass(frozen=True, slots=True)
class StreamedText:
    """The text of one call so far; empty before the first message."""

    call: str = ""
    attempt: int = 0
    role: str = ""
    part: str = ""
    text: str = ""

    def extended(self, chunk: Mapping[str, Any]) -> StreamedText:
        """With one more message. Another call, try or part starts a new text."""
        source = (chunk["call"], chunk["try"], chunk["part"])
        if source != (self.call, self.attempt, self.part):
            fresh = StreamedText(chunk["call"], chunk["try"], chunk["role"], chunk["part"])
            return replace(fresh, text=chunk["text"])
        return replace(self, text=(self.text + chunk["text"])[-_KEPT:])

    def last_line(self, width: int) -> str:
        """The end of the line that is being written. A tool's arguments are JSON: of them, the line
        within their text."""
        text = (
            self.text.replace("\\n", "\n").replace('\\"', '"') if self.part == "tool" else self.text
        )
        lines = [line.strip() for line in printable(text).splitlines() if line.strip()]
        if not lines:
            return ""
        room = max(width - len(self.role) - 2, 10)
        return f"{self.role}: {lines[-1][-room:]}"


_OUTPUT_LINES = 3
_SILENT_SECONDS = 10.0
"""A run that is not heard of for longer has lost its worker. Running runs are heard every second or
two."""


@dataclass(frozen=True, slots=True)
class RunInProgress:
    """A run that goes on. The times are of the monotonic clock."""

    title: str
    lines: tuple[str, ...]
    started_at: float
    heard_at: float

    @classmethod
    def of(cls, chunk: Mapping[str, Any]) -> RunInProgress:
        """The run, by its last message."""
        now = time.monotonic()
        lines = [line for line in printable(chunk["text"]).split("\n") if line.strip()]
        title = f"{chunk['role']}: {chunk.get('command', '')}"
        started_at = now - chunk.get("seconds", 0.0)
        return cls(printable(title), tuple(lines[-_OUTPUT_LINES:]), started_at, now)

    def render_lines(self) -> Iterator[str]:
        """Its duration and command, and its last lines; nothing if its worker was lost."""
        now = time.monotonic()
        if now - self.heard_at < _SILENT_SECONDS:
            yield f"{now - self.started_at:.0f} s  {self.title}"
            yield from self.lines


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

    def hear(self, chunk: Mapping[str, Any]) -> None:
        """Show below the footer the output of models and runs, until the event of a finished call
        or run."""
        if chunk["part"] == "output":
            self.footer.runs = {**self.footer.runs, chunk["call"]: RunInProgress.of(chunk)}
            return
        before = self.footer.streamed.get(chunk["call"], StreamedText())
        self.footer.streamed = {**self.footer.streamed, chunk["call"]: before.extended(chunk)}

    def show(self, event: ReceivedEvent) -> None:
        """Show an event, and update the totals."""
        if event.kind == "model_called":
            self.footer.streamed = {}
        elif event.kind == "run_finished":
            runs = self.footer.runs
            self.footer.runs = {run: runs[run] for run in runs if run != event.data["id"]}
        self.footer.totals = self.footer.totals.after(event)
        if event.final:  # `outcome_parts` shows how the job ended
            return
        self._screen.parts(parts(self._with_time(event), self._detail))
        self._screen.parts(file_parts(event, self._text_of, self._detail))

    def _with_time(self, event: ReceivedEvent) -> ReceivedEvent:
        """The end of a step with the `seconds` of work on it."""
        steps = self.footer.totals.plan.steps
        if event.kind != "step_finished" or not 1 <= event.data["step"] <= len(steps):
            return event
        seconds = steps[event.data["step"] - 1].worked_ms / 1000
        return replace(event, data={**event.data, "seconds": seconds})


class _Footer:
    """A spinner and the totals; below it, the lines that models and runs are writing."""

    def __init__(self) -> None:
        self.totals = Totals()
        self.streamed: Mapping[str, StreamedText] = {}
        self.runs: Mapping[str, RunInProgress] = {}
        self._started_at = time.monotonic()
        self._spinner = Spinner("dots")

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        frame = self._spinner.render(console.get_time())
        line = Text.assemble((str(frame), "cyan"), "  ", (self.totals_text(), "dim"))
        line.no_wrap = True
        line.truncate(options.max_width, overflow="ellipsis")
        yield line
        for streamed in self.streamed.values():
            if text := streamed.last_line(options.max_width - 5):
                yield Text(f"   {text}", "dim italic", no_wrap=True, overflow="ellipsis")
        for text in (text for run in self.runs.values() for text in run.render_lines()):
            yield Text(f"   {text}", "dim", no_wrap=True, overflow="ellipsis")

    def totals_text(self) -> str:
        """Time, steps in progress, revision, and spend."""
        totals = self.totals
        texts = [f"{time.monotonic() - self._started_at:.0f} s"]
        texts += totals.steps_in_progress(time.time())
        if totals.revision > 1:
            texts.append(f"revision {totals.revision}")
        if totals.tokens or totals.unreported:
            cost = spent(totals.spend())
            texts += [plural(totals.calls, "call"), plural(totals.runs, "run"), cost]
        return " · ".join(texts)
