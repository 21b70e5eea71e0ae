"""Links to resources, as paths of this API."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote


def job(job_id: str) -> dict[str, str]:
    """The paths of a job."""
    base = f"/jobs/{job_id}"
    return {
        "self": base,
        "events": f"{base}/events",
        "review": f"{base}/review",
        "cancel": f"{base}/cancel",
        "retry": f"{base}/retry",
        "rebase": f"{base}/rebase",
        "files": f"{base}/files",
        "archive": f"{base}/files.tar.gz",
        "artifacts": f"{base}/artifacts",
        "recording": f"{base}/recording",
    }


def artifact(job_id: str, name: str) -> str:
    """An artifact's bytes."""
    return f"/jobs/{job_id}/artifacts/{quote(name)}"


def file(job_id: str, path: str, at: str = "now") -> str:
    """A workspace file's bytes, now or at the job's start."""
    then = "" if at == "now" else f"?at={at}"
    return f"/jobs/{job_id}/files/{quote(path)}{then}"


def add_to_job(job_json: dict[str, Any]) -> dict[str, Any]:
    """A job's JSON with its links: itself, its artifacts, the texts of its runs."""
    job_id = job_json["id"]
    results = [job_json["result"]["artifacts"]] if job_json["result"] else []
    runs = [_with_texts(job_id, run) for run in job_json["runs"]]
    repairs = [_with_diff(job_id, repair) for repair in job_json["repairs"]]
    for listed in (job_json["artifacts"], *results, *(run["artifacts"] for run in runs)):
        listed[:] = with_hrefs(job_id, listed)
    review = job_json["review"] and {
        **job_json["review"],
        "payload": _with_review_links(job_id, job_json["review"]["payload"]),
    }
    return {**job_json, "runs": runs, "repairs": repairs, "review": review, "links": job(job_id)}


def _with_review_links(job_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    linked: dict[str, Any] = {}
    if "artifacts" in payload:
        linked["artifacts"] = with_hrefs(job_id, payload["artifacts"])
    if "runs" in payload:
        runs = [_with_texts(job_id, run) for run in payload["runs"]]
        linked["runs"] = [
            {**run, "artifacts": with_hrefs(job_id, run["artifacts"])} for run in runs
        ]
    return {**payload, **linked}


def with_hrefs(job_id: str, listed: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Artifacts with their paths."""
    return [{**row, "href": artifact(job_id, row["name"])} for row in listed]


def _with_diff(job_id: str, repair: dict[str, Any]) -> dict[str, Any]:
    href = f"/jobs/{job_id}/repairs/{repair['run']}/diff"
    return {**repair, "diff": {**repair["diff"], "href": href}}


def _with_texts(job_id: str, run: dict[str, Any]) -> dict[str, Any]:
    texts = {
        part: {**run[part], "href": f"/jobs/{job_id}/runs/{run['number']}/{part}"}
        for part in ("code", "stdout", "stderr")
    }
    return {**run, **texts, "artifacts": list(run["artifacts"])}
