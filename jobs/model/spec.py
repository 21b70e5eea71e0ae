"""JobSpec: the request of a job. The API validates it. Only its labels may change."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import unquote, urlsplit

DEFAULT_TIMEOUT_SECONDS = 900
LOOK_SECONDS = 900
"""How long one look of a benchmark at its exercises may take."""
CASES_PATH = ".fettle/cases.json"
"""The path of the cases in the checks' manifest, in the form that `POST /jobs` takes."""
CODEOWNERS = "CODEOWNERS"
"""In a list of approvers: each person who owns all changed files."""


class Priority(StrEnum):
    """The order in which workers claim jobs that wait."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class JobKind(StrEnum):
    """The purpose of a job."""

    TASK = "task"
    """A task that agents work on."""
    VERIFICATION = "verification"
    """Checks that run over files. No model is called."""
    BENCHMARK = "benchmark"
    """A set of exercises. It works by jobs of the kind `exercise` and by verifications."""
    EXERCISE = "exercise"
    """A task of a benchmark, which agents work on."""

    @property
    def is_for_agents(self) -> bool:
        """Whether agents work on such a job."""
        return self in (JobKind.TASK, JobKind.EXERCISE)


class OnExhausted(StrEnum):
    """The end of a job without approval."""

    ACCEPT = "accept"
    """It succeeds with its best result, unless its acceptance checks fail."""
    FAIL = "fail"
    """It fails as `unapproved`."""


class Evidence(StrEnum):
    """The evidence that an approval by the critic needs."""

    RUN = "run"
    """A run that verifies the work."""
    NONE = "none"
    """No run. For work that cannot be executed, such as documents."""


class OnExpiry(StrEnum):
    """The consequence if no person decides in time."""

    APPROVE = "approve"
    """Applies only to work with a successful verification; other reviews stay open."""
    REJECT = "reject"
    STAY = "stay"


class Pause(StrEnum):
    """When a job with `review` asks a person."""

    BEFORE_CRITIC = "before_critic"
    """When the executor is done."""
    EVERY_RUN = "every_run"
    """Also after every run: a pass of the executor ends when the code of a reply has run, with any
    result."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """The request of a job. A default never changes: the stored form leaves it out."""

    task: str
    """The task in plain English."""
    review: bool = False
    """A person decides on the work before the job ends."""
    model: str | None = None
    """`provider:model`. None: the worker's default."""
    steps: tuple[str, ...] = ()
    """The caller's plan. Empty: the planner makes a plan."""
    steps_after: tuple[tuple[int, ...] | None, ...] = ()
    """For each of `steps` the numbers (from 1) of the earlier steps that it needs. None: all
    earlier steps. Empty: the caller named none."""
    workspace: str | None = None
    """The digest of the manifest of the files that came with the request. None: no files."""
    conversation_id: str | None = None
    """The conversation that the job continues. None: the job is the first of a new conversation,
    which has the job's id."""
    max_revisions: int = 3
    """The highest number of passes of the executor."""
    on_exhausted: OnExhausted = OnExhausted.FAIL
    timeout_seconds: int = DEFAULT_TIMEOUT_SECONDS
    """How long the job may run. Waiting does not count."""
    priority: Priority = Priority.NORMAL
    labels: tuple[str, ...] = ()
    """The caller's words by which listings select jobs."""
    retry_of: str | None = None
    """The id of the job that this job retries."""
    fork_of: str | None = None
    """The id of the job that this job runs again, with other terms or from other files."""
    review_expires_seconds: int | None = None
    """How long a review waits for a person before `on_expiry` applies. None: for ever."""
    on_expiry: OnExpiry = OnExpiry.STAY
    record: bool = False
    """The replies of models are recorded: see `jobs.view.recording`."""
    approvals: int = 1
    """The number of approvals that a review needs, 1 or 2: see `jobs.transitions.reviews`."""
    repair: bool = True
    """If false, the work ends with the first code that has run: no failure is repaired, and no
    revision follows the critic's verdict."""
    max_cost_usd: str | None = None
    """The most that the job may spend, in US dollars as a decimal string. None: no bound."""
    max_tokens: int | None = None
    """The most tokens that the job may spend. None: no bound."""
    kind: JobKind = JobKind.TASK
    checks: CheckSpec | None = None
    """Acceptance checks, which must pass before the critic may approve."""
    write_tests: bool = False
    """A tester writes acceptance checks before the work begins."""
    questions: bool = False
    """The planner may ask a person before it plans."""
    questions_expire_seconds: int | None = None
    """How long questions wait for a person before the planner's defaults count. None: for ever."""
    parallel: bool = False
    """Independent steps of the plan run side by side."""
    pause: Pause = Pause.BEFORE_CRITIC
    review_remind_seconds: int | None = None
    """An event announces a review again if it has waited as long as this. None: no reminder."""
    review_escalate_seconds: int | None = None
    """A second announcement, as `review_remind_seconds`."""
    verify: tuple[str, ...] = ()
    """The arguments of the command that verifies the work. Empty: the executor declares a
    command."""
    evidence: Evidence = Evidence.RUN
    run_seconds: int | None = None
    """How long a run of code may take. None: the worker's setting."""
    run_memory_bytes: int | None = None
    """The memory that a run of code may use. None: the worker's setting."""
    max_steps: int | None = None
    """The model calls that a pass of the executor may make. None: the worker's setting."""
    repo: Repo | None = None
    """The git repository that the work starts from. The files of `workspace` replace files of the
    repository."""
    image: str | None = None
    """The image of the job's sandboxes, from the worker's list. None: the worker's own image."""
    deliver: Deliver | None = None
    """How an approved change is delivered to the repository. None: it is not delivered."""
    setup: str | None = None
    """The shell command that installs the repository's dependencies. None: a command that the
    repository's files suggest. Empty: no command."""
    rebase: EarlierChange | None = None
    """The change of another job, which is merged onto the commit of `repo` before the work starts.
    """
    review_rules: ReviewRules | None = None
    """The operator's rules for approvals, as of the submission. None: no rule applies."""
    role_models: Mapping[str, tuple[str, ...]] | None = None
    """The operator's models by role, as of the submission: chains of `provider:model`. A role that
    is missing uses `model`. None: as all roles."""
    benchmark: BenchmarkSpec | None = None
    """The measurement, of a job of the kind `benchmark`. Its exercises have the other terms."""

    @property
    def running_seconds(self) -> int:
        """How long the job may run. The `timeout_seconds` of a benchmark are those of each of its
        exercises; a look at them has a limit of its own."""
        return LOOK_SECONDS if self.kind is JobKind.BENCHMARK else self.timeout_seconds

    @property
    def shows_each_run(self) -> bool:
        """Whether a person is asked after every run."""
        return self.review and self.pause is Pause.EVERY_RUN

    @property
    def needs_other_persons(self) -> bool:
        """Whether only persons who are not authors of the work can approve it: two approvals are
        needed, or a rule of the operator applies."""
        return self.approvals > 1 or self.review_rules is not None


@dataclass(frozen=True, slots=True)
class BenchmarkSpec:
    """A measurement of a model: see ADR 94. The file of the job, if there is one, has the
    exercises."""

    set: str
    """The name of the set of exercises."""
    limit: int | None = None
    """The number of exercises, from the first. None: all."""
    repeat: int = 1
    """The number of tries at each exercise."""
    at_once: int = 4
    """The most exercises that are unfinished at the same time."""
    budget_usd: str | None = None
    """No further exercise starts when the exercises have cost as much, in US dollars as a decimal
    string. None: no bound."""


@dataclass(frozen=True, slots=True)
class ReviewRules:
    """The operator's rules that apply to a job, as one: see ADR 92. The job's spec has their number
    of approvals and their expiry."""

    names: tuple[str, ...]
    """The names of the rules."""
    approvers: tuple[tuple[str, ...], ...] = ()
    """Lists of persons, or CODEOWNERS. An approver is on each list."""
    owners: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Persons by the owner that CODEOWNERS names. An owner who is missing is a person's name."""
    override: bool = True
    """Whether a person may approve against the evidence."""
    remark: bool = False
    """Whether each approval needs a remark."""
    conditions: tuple[str, ...] = ()
    """For each rule, the condition that the job meets, as `repository git.example.org/pay/*`."""

    def __str__(self) -> str:
        """`the rule 'payments'`."""
        return f"the rule{'s' * (len(self.names) > 1)} {', '.join(map(repr, self.names))}"


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """Acceptance checks: test files with a command, and cases."""

    manifest: str
    """The digest of the manifest of the test files and the cases. They are not part of the
    workspace."""
    paths: tuple[str, ...]
    """The paths of the test files."""
    command: str | None = None
    """The command that runs them, without a shell. None: pytest."""
    cases: tuple[str, ...] = ()
    """The ids of the cases."""


@dataclass(frozen=True, slots=True)
class Repo:
    """A git repository, by its `url` or by an uploaded `bundle`; the other field is None."""

    url: str | None = None
    ref: str | None = None
    """A branch, a tag or a commit. None: HEAD."""
    bundle: str | None = None
    """The digest of a git bundle that came with the request."""

    @property
    def name(self) -> str | None:
        """See `repository_name`; None for an uploaded repository."""
        return repository_name(self.url) if self.url else None


def repository_name(url: str) -> str:
    """The name of a repository, such as `git.example.org/team/app`: equal for all URLs by which a
    host knows it. It has no scheme, user, port, upper case, `.git`, escapes and superfluous
    slashes. A name is its own name."""
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
    except ValueError:  # not an address; it is the name of no repository
        return url
    path = posixpath.normpath("/" + unquote(parts.path)).strip("/").casefold()
    host = (parts.hostname or "").rstrip(".").casefold()
    return f"{host}/{path.removesuffix('.git').rstrip('/')}".rstrip("/")


@dataclass(frozen=True, slots=True)
class EarlierChange:
    """The change of another job on the same repository. A job can start from this change."""

    job_id: str
    bundle: str
    """The digest of the git bundle that has the change as one commit."""
    base: str
    """The commit (hexadecimal) that the change was made on."""
    branch: str | None = None
    """The branch of the host to which the change was delivered, or with the commit `base`. None: no
    branch of the host belongs to the change."""
    root: str | None = None
    """The commit on which the first change of `branch` was made. None: it is `base`."""
    upload: str | None = None
    """The digest of the git bundle with the commit `base`, for an uploaded repository."""

    @property
    def work_base(self) -> str:
        """The commit that all changes of the branch are relative to."""
        return self.root or self.base


@dataclass(frozen=True, slots=True)
class Deliver:
    """How an approved change is delivered to the repository that it was fetched from."""

    branch: bool = True
    """The change is pushed as a new branch."""
    pull_request: bool = False
    """As a pull request (GitLab: a merge request) from that branch."""
