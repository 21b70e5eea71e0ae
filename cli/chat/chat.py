"""One conversation at the terminal: a line is a task or a command."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import click
from rich.console import RenderableType
from rich.text import Text

from api.http.foreign_text import visible_path
from api.quantities import size
from cli.chat.applying import write_files
from cli.chat.commands import COMMANDS, DEFAULT, parse, parse_budget
from cli.chat.following import FAILURES, JobFollower, show_failure
from cli.chat.terminal import ChatTerminal
from cli.chat.user_state import remember_conversation
from cli.client import Job
from cli.client.files import change_of
from cli.follow.review_prompt import Later, decide, needs_remark
from cli.output import Screen
from cli.render.job import change_parts
from cli.render.listing import show_jobs, thread_parts
from cli.render.parts import Line, Tone
from cli.render.review import GO_ON, choices, override_question
from cli.render.texts import printable
from cli.repository.apply import apply_job
from fettle import Service
from fettle.errors import FettleError
from fettle.events import FINAL

SERVICE_DEFAULT = "the service's default"
SHOWN_JOBS = 5
"""The jobs of the thread that a resumed chat shows."""
END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
HINT = "Alt-Enter: a new line · /help: the commands · Ctrl-D: leave"


def _end(signum: int, _frame: FrameType | None) -> None:
    # A closing terminal sends several signals. The next one must not interrupt the cleanup.
    for end_signal in END_SIGNALS:
        signal.signal(end_signal, signal.SIG_IGN)
    raise SystemExit(128 + signum)


class Chat:
    """One conversation. `terms`: the fields of each job, such as its model. `submit_first` takes
    the fields of the first task of this chat, and submits it with the files and the repository."""

    def __init__(
        self,
        service: Service,
        terms: Mapping[str, Any],
        submit_first: Callable[[Mapping[str, Any]], Job],
        folder: Path | None,
        conversation_id: str | None,
    ) -> None:
        self._service = service
        self._terms = dict(terms)
        self._submit = submit_first
        self._state_folder = folder
        self._conversation_id = conversation_id
        self._job_id: str | None = None
        """The newest job of the conversation."""
        self._follower: JobFollower | None = None
        self._models: Sequence[str] | None = None
        self._screen = Screen()
        self._acts: Mapping[str, Callable[[str], None]] = {
            "": self._say,
            "approve": self._approve,
            "revise": self._revise,
            "decide": self._ask_decision,
            "files": self._list_files,
            "diff": self._show_changes,
            "apply": self._apply,
            "model": self._choose_model,
            "budget": self._choose_budget,
            "jobs": self._list_jobs,
            "help": self._show_help,
        }
        self._terminal = ChatTerminal(folder, self._label, self._below, self._list_models)

    def run(self) -> None:
        """Chat until the person leaves, or a signal ends the chat."""
        for signum in END_SIGNALS:
            signal.signal(signum, _end)
        with (
            TemporaryDirectory(prefix="fettle-chat-", ignore_cleanup_errors=True) as saved,
            self._terminal.opened(),
        ):
            self._saved = Path(saved)
            self._show_thread()
            while self._next_line():
                pass
        if self._conversation_id:
            command = f"fettle chat --conversation {self._conversation_id}"
            text = "resumes the chat" if self._running is None else "shows the running job again"
            self._screen.copyable("left", f"`{command}` {text}")

    @property
    def _running(self) -> JobFollower | None:
        return self._follower if self._follower and self._follower.is_alive() else None

    def _label(self) -> str:
        if self._running is None:
            return "task"
        return "decide" if self._running.review else "running"

    def _below(self) -> RenderableType:
        if (running := self._running) is None:
            chosen = [self._terms.get("model"), self._budget_text()]
            return Text(" · ".join([*filter(None, chosen), HINT]), "dim", overflow="ellipsis")
        if running.review:
            return Text("/approve, /revise TEXT, or /decide", "dim")
        return running.footer

    def _budget_text(self) -> str:
        return f"${self._terms['max_cost_usd']} a job" if "max_cost_usd" in self._terms else ""

    def _next_line(self) -> bool:
        """Read one line, and act on it. Returns False if the person leaves."""
        try:
            line = self._terminal.read(live=self._running is not None)
        except EOFError:
            return False
        except KeyboardInterrupt:
            return self._ask_at_interrupt()
        try:
            command, text = parse(line)
            if command == "quit":
                return False
            self._acts[command](text)
        except FAILURES as error:
            show_failure(self._screen, "not done", error)
            if not line.startswith("/"):
                # Not in the editor: it may have a part of the next line, which must not join it.
                self._screen.line("", "the key Up brings the line back")
        except Later:  # at a question
            self._screen.text("nothing was done")
        except KeyboardInterrupt:
            self._screen.text("stopped; a request that was sent may have its effect")
        return True

    def _ask_at_interrupt(self) -> bool:
        """Ask about the running job after Ctrl-C. Returns False if the person leaves."""
        if (running := self._running) is None:
            return True  # Ctrl-C has cleared the line
        question = "cancel the job (c), leave the chat while it goes on (l), or continue (Enter)? "
        try:
            while (answer := self._terminal.ask(question).lower()) not in ("c", "l", ""):
                pass
            if answer == "c":
                self._service.cancel(running.job_id)
        except Later:
            return False
        except FAILURES as error:
            show_failure(self._screen, "not done", error)
        return answer != "l"

    def _say(self, text: str) -> None:
        """Submit the next task, or send a message to the running job."""
        if not text:
            return
        if (running := self._running) is not None:
            if running.review:
                raise click.UsageError("/approve or /revise TEXT decides the open review")
            self._service.message(running.job_id, text)  # its event appears above the line
            return
        if self._follower and self._follower.has_failed:
            # The line may be meant for this job, so it must not become another job unseen.
            self._follower = self._follower.resumed()
            self._follower.start()
            raise click.UsageError("the chat follows the job again: send the line again")
        spec = {**self._terms, "task": text}
        if self._conversation_id:
            spec["conversation_id"] = self._conversation_id
        job = self._submit(spec)
        self._submit = self._service.submit  # the conversation has the files and the repository
        self._conversation_id = self._conversation_id or job["id"]
        page = f"{self._service.url}/app/jobs/{job['id']}"
        self._screen.line("job", f"{job['id']}; {page}", Tone.QUIET)
        self._follow(job["id"])
        remember_conversation(self._state_folder, self._service.url, self._conversation_id)

    def _follow(self, job_id: str) -> None:
        self._job_id = job_id
        service = Service(self._service.url, self._service.key)
        self._follower = JobFollower(service, job_id, self._screen, self._saved)
        self._follower.start()

    def _seen_review(self) -> Job:
        """The job with the open review that the person has seen."""
        if (running := self._running) is None or running.review is None:
            raise click.UsageError("no review is open")
        return running.review

    def _approve(self, remark: str) -> None:
        job = self._seen_review()
        if doubt := override_question(job["review"]):
            if self._terminal.ask(f"{doubt} [y/N] ")[:1].lower() != "y":
                raise click.UsageError("not approved")
            remark = remark or self._terminal.ask("why? ")
        elif needs_remark(job):
            remark = remark or self._terminal.ask("a remark on the approval: ")
        self._decide("approve", remark, **({"override": True} if doubt else {}))

    def _decide(self, action: str, feedback: str, **more: Any) -> None:
        job = self._seen_review()
        review = job["review"]
        if action not in (offered := choices(review)):
            raise click.UsageError(f"this review takes {', '.join(offered)}: /decide asks for it")
        if action == "revise" and not feedback and offered[action] != GO_ON:
            raise click.UsageError("/revise needs a text: what should change?")
        decision = {"action": action, "review_id": review["id"], "digest": review["digest"], **more}
        if feedback:
            decision["feedback"] = feedback
        after = self._service.decide(job["id"], decision)
        if after["status"] == "awaiting_review":  # the first approval of two
            self._screen.line("approved", "another person has to approve, too")

    def _revise(self, feedback: str) -> None:
        self._decide("revise", feedback)

    def _ask_decision(self, _: str) -> None:
        with self._terminal.line_mode():
            decide(self._service, self._seen_review(), self._screen)

    def _choose_model(self, name: str) -> None:
        self._choose("model", name)
        self._screen.line("model", printable(self._terms.get("model", SERVICE_DEFAULT)))

    def _choose_budget(self, dollars: str) -> None:
        self._choose("max_cost_usd", parse_budget(dollars))
        self._screen.line("budget", self._budget_text() or SERVICE_DEFAULT)

    def _choose(self, name: str, value: str) -> None:
        """Set a term of the next jobs; an empty value changes nothing."""
        if value == DEFAULT:
            self._terms.pop(name, None)
        elif value:
            self._terms[name] = value

    def _newest_job(self) -> str:
        if self._job_id is None:
            raise click.UsageError("this conversation has no job yet")
        return self._job_id

    def _list_files(self, _: str) -> None:
        for file in self._service.files(self._newest_job()):
            self._screen.text(f"  {visible_path(file['path'])} ({size(file['size'])})")

    def _show_changes(self, _: str) -> None:
        job = self._service.job(self._newest_job())
        change = tuple(change_parts(job, change_of(self._service, job)))
        self._screen.parts(change or [Line("change", "none so far")])

    def _apply(self, _: str) -> None:
        job = self._service.job(self._newest_job())
        if job["spec"].get("repo"):
            apply_job(self._service, job, self._screen)
        else:
            write_files(self._service, job, self._screen, self._terminal.ask)

    def _list_jobs(self, _: str) -> None:
        if self._conversation_id:
            show_jobs(self._screen, self._service.jobs(conversation=self._conversation_id))

    def _show_help(self, _: str) -> None:
        for name, (argument, effect) in COMMANDS.items():
            self._screen.text(f"  {f'/{name} {argument}':<20}{effect}")
        self._screen.text(f"  {HINT}")

    def _list_models(self) -> Sequence[str]:
        if self._models is None:
            self._models = ()
            with suppress(FettleError):
                listed = self._service.models()
                recordings = (f"recording:{name}" for name in listed["recordings"])
                self._models = [*(model["name"] for model in listed["offered"]), *recordings]
        return self._models

    def _show_thread(self) -> None:
        """Show the last jobs of a resumed conversation, and follow the newest job that runs."""
        if self._conversation_id is None:
            return
        thread = self._service.conversation(self._conversation_id)
        self._screen.parts(thread_parts(thread, SHOWN_JOBS))
        running = [job for job in thread["jobs"] if job["status"] not in FINAL]
        self._job_id = thread["jobs"][-1]["id"]
        remember_conversation(self._state_folder, self._service.url, self._conversation_id)
        for job in running[:-1]:
            status = job["status"].replace("_", " ")
            text = f"{job['id']}, {status}: `fettle watch {job['id']}` follows it"
            self._screen.copyable("not shown", text)
        if running:
            self._follow(running[-1]["id"])
