"""Findings on a deployment, from the answer to `GET /system` (pure)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from api.quantities import plural

SET_A_KEY = "set GROQ_API_KEY, GOOGLE_API_KEY or another provider's where the workers run"
SEE = "`fettle webhooks list` shows why; `fettle webhooks retry ID` sends one again"
SEE_SSH = "docs/repositories.md, Over ssh; then restart the worker"
GIVE_MORE_CONTEXT = (
    "start the server with more: the executor's instructions and tools alone take about 1,500 "
    "tokens (docs/models.md, The length of a reply)"
)
LITTLE_CONTEXT = 8_192
"""In tokens. With less, a job soon loses the output of its runs and its own earlier work."""
LATE_SECONDS = 600.0
STALE_SECONDS = 20.0
"""The bound on the age of a worker's last report, if the service does not name one."""
WAITING = "repair it: the worker takes no job until then, and checks again by itself"


class Rating(StrEnum):
    """`bad`: no job could run. `note`: a fact without judgement."""

    GOOD = "good"
    NOTE = "note"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a check, with `advice` on the next step."""

    name: str
    health: Rating
    text: str
    advice: str = ""

    def plain(self) -> dict[str, str]:
        """For JSON."""
        return {name: str(value) for name, value in asdict(self).items()}


def findings(system: Mapping[str, Any]) -> Iterator[Finding]:
    """Everything that a running service reports."""
    counts = ", ".join(f"{count} {status}" for status, count in system["jobs"].items() if count)
    service = system.get("release") or system["version"]
    yield Finding("service", Rating.GOOD, f"Fettle {service}, {system['environment']}")
    yield Finding("jobs", Rating.NOTE, counts.replace("_", " ") or "none yet")
    if system.get("workers") is None:
        if not system["serving"]:
            yield Finding("workers", Rating.BAD, "none was seen lately", "ask the operator")
        text = "only an operator's key shows more of workers, queue and Redis"
        yield Finding(
            "system", Rating.NOTE, text, "use a key with the scope admin, of the tenant default"
        )
        yield Finding("allowed", Rating.NOTE, f"jobs may name {', '.join(system['models'])}")
        return
    if state := system["redis"]:
        yield from redis(state["server"], state["version"], state["findings"])
    yield from _webhooks(system.get("webhooks"))
    limits = system.get("limits", {})
    lately = limits.get("worker_seen_seconds", STALE_SECONDS)
    workers = [worker for worker in system["workers"] if worker["seen_seconds"] <= lately]
    if not workers:
        advice = "start one: python -m worker"
        yield Finding("workers", Rating.BAD, "none was seen lately", advice)
        return
    yield Finding("workers", Rating.GOOD, _worker_names(workers))
    yield from _releases(workers, service)
    yield from _dropped(workers)
    yield from _tools(workers)
    yield from _ignored(workers)
    yield from _unequal(workers)
    yield from _grace(workers, limits)
    yield from _room_for_files(workers, limits)
    yield from _sandboxes(workers)
    yield from _other_parts(workers)
    yield from _repositories(workers)
    yield from models(
        keys={key for worker in workers for key in worker["models"]["keys"]},
        default=next((w["models"]["default"] for w in workers if w["models"]["default"]), None),
        recordings={name for worker in workers for name in worker["models"]["recordings"]},
    )
    yield from _model_servers(workers)
    yield Finding("allowed", Rating.NOTE, f"jobs may name {', '.join(system['models'])}")


def _webhooks(counts: Mapping[str, Any] | None) -> Iterator[Finding]:
    """Messages that did not arrive. No finding if all have arrived, or if the service does not
    report them."""
    if counts is None or not (counts["dead"] or counts["waiting"]):
        return
    text = f"{counts['waiting']} waiting, the oldest for {counts['oldest_seconds']:.0f} s"
    if not counts["dead"]:
        late = counts["oldest_seconds"] > LATE_SECONDS
        yield Finding("webhooks", Rating.WARN if late else Rating.NOTE, text, SEE if late else "")
        return
    yield Finding("webhooks", Rating.WARN, f"{counts['dead']} never arrived; {text}", SEE)


def models(keys: set[str], default: str | None, recordings: set[str]) -> Iterator[Finding]:
    """The models that could answer."""
    if keys or default:
        text = f"keys for {', '.join(sorted(keys)) or 'none'}; default {default or 'none'}"
        yield Finding("models", Rating.GOOD, text)
    elif recordings:
        text = f"no key: only recordings can be played ({', '.join(sorted(recordings))})"
        yield Finding("models", Rating.WARN, text, SET_A_KEY)
    else:
        yield Finding("models", Rating.BAD, "no key, and no recordings", SET_A_KEY)


def _model_servers(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """The contexts of models, and the models without an answering server. If no default model of a
    worker has a server, no job can run there."""
    contexts: dict[str, set[int]] = {}
    errors: dict[str, Rating] = {}
    for worker in workers:
        servers = worker.get("model_servers", {})
        default = (worker["models"]["default"] or "").split(", ")
        away = [name for name, server in servers.items() if server["error"]]
        health = Rating.BAD if set(default) <= set(away) else Rating.WARN
        errors |= {servers[name]["error"]: health for name in away}
        for name, server in servers.items():
            if server["context_tokens"]:
                contexts.setdefault(name, set()).add(server["context_tokens"])
    for error, health in errors.items():
        yield Finding("models", health, error)
    for name, tokens in sorted(contexts.items()):
        text = f"{name}: {', '.join(f'{limit:,}' for limit in sorted(tokens))} tokens"
        if min(tokens) < LITTLE_CONTEXT:
            yield Finding("context", Rating.WARN, text, GIVE_MORE_CONTEXT)
        else:
            yield Finding("context", Rating.NOTE, text)


def sandbox(report: Mapping[str, Any]) -> Iterator[Finding]:
    """A backend ({backend, works, why, layers}), and its layers."""
    if not report["works"]:
        yield Finding("sandbox", Rating.BAD, _broken(report))
        return
    yield Finding("sandbox", Rating.GOOD, f"{report['backend']} works")
    for layer in report["layers"]:
        state = "on" if layer["active"] else "off"
        health = Rating.NOTE if layer["active"] else Rating.WARN
        yield Finding(f"  {layer['name']}", health, f"{state}: {layer['detail']}")


def redis(server: str, version: str, reports: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """A server, and what its settings mean: {name, value, verdict, advice}."""
    yield Finding("redis", Rating.GOOD, f"{server} {version}")
    judged = {"ok": Rating.NOTE, "warn": Rating.WARN, "refuse": Rating.BAD, "unusable": Rating.BAD}
    for report in reports:
        if report["name"] != "version" or report["verdict"] != "ok":
            # a newer service may have other verdicts
            health = judged.get(report["verdict"], Rating.WARN)
            yield Finding(f"  {report['name']}", health, report["value"], report["advice"])


def _worker_names(workers: list[Mapping[str, Any]]) -> str:
    ids = ", ".join(worker["id"] for worker in workers)
    slots = sum(worker["slots"] for worker in workers)
    return f"{ids}: {plural(slots, 'slot')}"


def _releases(workers: list[Mapping[str, Any]], service: str) -> Iterator[Finding]:
    """The workers of each release; a warning for each that is not the service's."""
    ids_by_release: dict[str, list[str]] = {}
    for worker in workers:
        name = worker.get("release") or worker.get("version") or "unknown"
        ids_by_release.setdefault(name, []).append(worker["id"])
    for name, ids in sorted(ids_by_release.items()):
        if name == service:
            yield Finding("release", Rating.NOTE, f"{name}: {', '.join(ids)}")
            continue
        text = f"{name}: {', '.join(ids)}; the service runs {service}"
        yield Finding("release", Rating.WARN, text, "finish the upgrade of the fleet")


def _dropped(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Variables of libraries that workers were started with."""
    names = {name for worker in workers for name in worker.get("dropped_variables", ())}
    if names:
        yield dropped(sorted(names), "workers")


def dropped(names: Sequence[str], origin: str) -> Finding:
    """Variables of libraries that were set for `origin`: this command or the workers."""
    text = f"{', '.join(names)}: variables of libraries, which have no effect in Fettle ({origin})"
    return Finding("environment", Rating.WARN, text, "unset them, or see docs/configuration.md")


def _tools(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """The tools of the executors. They should be equal, because a job can continue at another
    worker."""
    tools = sorted({", ".join(worker["tools"]) for worker in workers if worker.get("tools")})
    if len(tools) == 1:
        yield Finding("tools", Rating.NOTE, tools[0])
    elif tools:
        advice = "give all workers the same FETTLE_TOOLS, FETTLE_FETCH_... and FETTLE_MCP_SERVERS"
        yield Finding("tools", Rating.WARN, f"workers differ: {'; '.join(tools)}", advice)
    for worker in workers:
        for name, fault in worker.get("tool_servers", {}).items():
            if fault is not None:
                text = f"tools of {name} are left out at {worker['id']}: {fault}"
                yield Finding("tools", Rating.WARN, text, "docs/how-to/give-mcp-servers-to-jobs.md")


def _ignored(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Values in the environment of a worker that differ from the fleet's record."""
    for worker in workers:
        ignored = worker.get("fleet", {}).get("ignored", {})
        if ignored:
            values = ", ".join(
                f"FETTLE_{name.upper()}={value:g}" for name, value in ignored.items()
            )
            text = f"{worker['id']} ignores {values}: the record of the fleet differs"
            advice = "`fettle fleet settings` shows the record; `fettle fleet set` changes it"
            yield Finding("fleet", Rating.WARN, text, advice)


def _unequal(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Settings that apply to the jobs of all tenants, and that differ between workers."""
    values: dict[str, set[Any]] = {}
    for worker in workers:
        for name, value in worker.get("shared_settings", {}).items():
            values.setdefault(name, set()).add(value)
    names = [f"FETTLE_{name.upper()}" for name, used in sorted(values.items()) if len(used) > 1]
    if names:
        text = f"workers differ in {', '.join(names)}: each uses its own value for all jobs"
        yield Finding("settings", Rating.WARN, text, "give all workers the same values")


def _grace(workers: list[Mapping[str, Any]], limits: Mapping[str, Any]) -> Iterator[Finding]:
    """Whether bytes that no job refers to yet outlast the attempt that stored them."""
    longest = limits.get("max_timeout_seconds", 0)
    periods = [worker["blob_grace_seconds"] for worker in workers if "blob_grace_seconds" in worker]
    if periods and min(periods) <= longest:
        text = f"unused bytes go after {min(periods):g} s, and a job may run for {longest:g} s"
        advice = f"fettle fleet set blob_grace_seconds={2 * longest:g}"
        yield Finding("blob grace", Rating.WARN, text, advice)


def _room_for_files(
    workers: list[Mapping[str, Any]], limits: Mapping[str, Any]
) -> Iterator[Finding]:
    """Whether workers accept workspaces as large as the files that the API accepts for a job."""
    most = limits.get("max_files_bytes", 0)
    sizes = [worker["workspace_bytes"] for worker in workers if "workspace_bytes" in worker]
    if sizes and min(sizes) < most:
        text = f"holds {min(sizes):,} bytes, and a job may submit {most:,}, which could not run"
        advice = "set FETTLE_WORKSPACE_BYTES above FETTLE_MAX_FILES_BYTES"
        yield Finding("workspace", Rating.WARN, text, advice)


def _sandboxes(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Report each different sandbox once, and each broken sandbox.

    A worker with a broken sandbox takes no job, so jobs stop only if every sandbox is broken.
    """
    some_work = any(worker["sandbox"]["works"] for worker in workers)
    reported: list[Mapping[str, Any]] = []
    for worker in workers:
        report = worker["sandbox"]
        if not report["works"]:
            health = Rating.WARN if some_work else Rating.BAD
            yield Finding("sandbox", health, f"of {worker['id']}: {_broken(report)}", WAITING)
        elif report not in reported:
            reported.append(report)
            yield from sandbox(report)


def _other_parts(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Broken storage or models. A worker takes no job without them. A worker may not report
    them."""
    for part in ("storage", "default_model"):
        broken = [worker for worker in workers if not worker.get(part, {"works": True})["works"]]
        health = Rating.BAD if len(broken) == len(workers) else Rating.WARN
        for worker in broken:
            text = f"of {worker['id']}: {_broken(worker[part])}"
            yield Finding(part.replace("_", " "), health, text, WAITING)


def _repositories(workers: list[Mapping[str, Any]]) -> Iterator[Finding]:
    """Whether jobs on repositories can run. A worker may not report it."""
    reported: set[str] = set()
    lacking: set[str] = set()
    for worker in workers:
        report = worker.get("repositories", {"works": True, "git": None})
        if not report["works"]:
            text = f"jobs on repositories fail at {worker['id']}: {report['why']}"
            yield Finding("repositories", Rating.WARN, text, "install it, then restart the worker")
        elif report["git"]:
            hosts, indexes = ", ".join(report["hosts"]), ", ".join(report.get("setups", ()))
            fetched = f"fetched from {hosts}" if hosts else "uploads only"
            needs = f"from {indexes}" if indexes else "not installed (FETTLE_SETUP_HOSTS)"
            to = ", ".join(report.get("delivers", ()))
            delivered = f"; delivered to {to}" if to else ""
            reported.add(f"git {report['git']}; {fetched}; dependencies: {needs}{delivered}")
            lacking.update(report.get("lacks", ()))
    for text in sorted(lacking):
        yield Finding("repositories", Rating.WARN, f"not fetched over ssh: {text}", SEE_SSH)
    yield from (Finding("repositories", Rating.NOTE, text) for text in sorted(reported))


def _broken(report: Mapping[str, Any]) -> str:
    return f"{report['backend']} cannot work: {report['why']}"
