"""JobSpec: the request of a job. The API validates it; it never changes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CASES_PATH = ".fettle/cases.json"
"""The path of the cases in the checks' manifest, in the form that `POST /jobs` takes."""


class Priority(StrEnum):
    """Orders claims among the jobs that wait."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class Kind(StrEnum):
    """What a job is for: a task that agents work on, or checks that are run over files."""

    TASK = "task"
    VERIFICATION = "verification"


class OnExhausted(StrEnum):
    """How a job without approval ends: as failed (`unapproved`), or accepted with its best result,
    unless its acceptance checks fail."""

    ACCEPT = "accept"
    FAIL = "fail"


class Evidence(StrEnum):
    """What an approval by the critic needs: a run that verifies the work, or nothing (`none`: for
    work that nothing can execute, such as documents)."""

    RUN = "run"
    NONE = "none"


class OnExpiry(StrEnum):
    """What happens when no person has decided in time.

    `approve` applies only to work with a successful run; other reviews stay open.
    """

    APPROVE = "approve"
    REJECT = "reject"
    STAY = "stay"


class Pause(StrEnum):
    """When a reviewed job asks a person: before the critic, when the executor is done; or also
    after every run: then a pass of the executor ends with the model's reply whose code has run,
    whatever its result."""

    BEFORE_CRITIC = "before_critic"
    EVERY_RUN = "every_run"


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A request. `workspace` is the digest of the manifest of the files that came with it.

    `model` is `provider:model` or None for the worker's default. `conversation_id` None makes the
    job the first of a conversation with the job's own id. `timeout_seconds` counts running time.
    One run of code may take `run_seconds` and `run_memory_bytes`, and one revision `max_steps`
    model calls; None: as the worker's settings say. `max_cost_usd` (a decimal string) and
    `max_tokens` bound what it may spend; None: no bound.
    `retry_of` is the job that this one retries. `review_expires_seconds` is how long each review
    waits for a person before `on_expiry` applies; None: for ever. `approvals` is how many a review
    takes, 1 or 2 (see `jobs.transitions.reviews`). After `review_remind_seconds` and
    `review_escalate_seconds` an event announces a review that still waits once more. `record`: the
    model's side is written down, see `jobs.view.recording`. Without `repair` the work ends with the
    first code that has run: no failure is repaired, and no revision follows the critic's verdict.
    `verify` is the command that proves the work, word by word (empty: the executor declares one);
    `evidence` says whether the critic needs one. `checks` have to pass before the critic may
    approve; with `write_tests` a tester writes some first. With `questions` the planner may ask a
    person before it plans; after `questions_expire_seconds` its own defaults count (None: it waits
    for ever). With `parallel`, independent steps of the plan run side by side.
    With `repo` the work starts from a commit of a git repository, with `workspace` over it; with
    `deliver` an approved change is pushed to it. `setup` is the shell command that installs its
    dependencies: None, one that the repository's own files suggest; empty, none.
    `image` is the image of its sandboxes, from the worker's list; None: the worker's own.
    With `rebase` the work starts from another job's change, merged onto the commit of `repo`.
    """

    task: str
    review: bool = False
    model: str | None = None
    steps: tuple[str, ...] = ()
    workspace: str | None = None
    conversation_id: str | None = None
    max_revisions: int = 3
    on_exhausted: OnExhausted = OnExhausted.FAIL
    timeout_seconds: int = 900
    priority: Priority = Priority.NORMAL
    labels: tuple[str, ...] = ()
    retry_of: str | None = None
    review_expires_seconds: int | None = None
    on_expiry: OnExpiry = OnExpiry.STAY
    record: bool = False
    approvals: int = 1
    repair: bool = True
    max_cost_usd: str | None = None
    max_tokens: int | None = None
    kind: Kind = Kind.TASK
    checks: CheckSpec | None = None
    write_tests: bool = False
    questions: bool = False
    questions_expire_seconds: int | None = None
    parallel: bool = False
    pause: Pause = Pause.BEFORE_CRITIC
    review_remind_seconds: int | None = None
    review_escalate_seconds: int | None = None
    verify: tuple[str, ...] = ()
    evidence: Evidence = Evidence.RUN
    run_seconds: int | None = None
    run_memory_bytes: int | None = None
    max_steps: int | None = None
    repo: Repo | None = None
    image: str | None = None
    deliver: Deliver | None = None
    setup: str | None = None
    rebase: Rebase | None = None

    @property
    def shows_each_run(self) -> bool:
        """Whether a person is asked after every run."""
        return self.review and self.pause is Pause.EVERY_RUN


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """Test files with a command, and cases. `manifest` is the digest of the manifest of the files,
    which are no part of the workspace, and of the cases; `paths` are the test files' names;
    `command` None: pytest on them; `cases` are the cases' ids.
    """

    manifest: str
    paths: tuple[str, ...]
    command: str | None = None
    cases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Repo:
    """A git repository: at a `url`, or in `bundle`, the digest of a git bundle that came with the
    job; one of both is None. `ref` names a branch, a tag or a commit; None: HEAD."""

    url: str | None = None
    ref: str | None = None
    bundle: str | None = None


@dataclass(frozen=True, slots=True)
class Rebase:
    """An approved change: the job that made it, the digest of its git bundle, and the commit
    (hexadecimal) that it was made on."""

    job_id: str
    bundle: str
    base: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """What becomes of an approved change in the repository that it was fetched from: a branch of
    its own, and a pull request from it (GitLab: a merge request)."""

    branch: bool = True
    pull_request: bool = False
