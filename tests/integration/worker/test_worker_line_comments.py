"""Comments on lines of a patch, with a real worker: the model reads the comments, and the next
review shows their state."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.graph.repository_job import ANSWER, REPLIES, TASK, RepairingModel, project
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from fettle import Service
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn
from settings.base import DEVELOPMENT_KEY

SPEC = {"task": TASK, "model": "groq:llama-3.3-70b-versatile", "review": True, "run_seconds": 60}
OPEN = {"path": "days/count.py", "line": 6, "text": "Say what a negative number means."}
DONE = {"path": "tests/test_count.py", "line": 9, "text": "And 1970 itself?"}
AFTER = {
    "path": "tests/test_count.py",
    "old_text": "years(1969) == -1",
    "new_text": "years(1970) == 0",
}


class RevisingModel(RepairingModel):
    """After the first review, the model edits the test that has a comment."""

    def turn(self, request: Request) -> Turn:
        reply_count = sum(message.speaker == "assistant" for message in request.messages)
        if request.forced_tool is None and reply_count == len(REPLIES) + 1:
            self.requests.append(request)
            return Reply(
                tool_calls=(
                    ToolCall("edit_file", AFTER),
                    ToolCall("verify", {"command": ["pytest"]}),
                )
            )
        return super().turn(request)


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


def reviewed(service: Service, job_id: str, other_than: str, deployment: Deployment) -> Any:
    """The job with its next open review."""
    end = time.monotonic() + 60
    while True:
        job: Mapping[str, Any] = service.job(job_id)
        if job["review"] and job["review"]["id"] != other_than:
            return job
        assert time.monotonic() < end, deployment.logs()
        time.sleep(0.02)


def test_comments_reach_the_model_and_are_marked_in_the_next_review(
    deployment: Deployment, tmp_path: Path
) -> None:
    model = RevisingModel()
    repository = project(tmp_path / "project")
    with ProviderServer(model.turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            spec = {**SPEC, "repo": {"ref": "main"}}
            job_id = str(service.submit(spec, bundle=repository.bundle())["id"])
            first = reviewed(service, job_id, "", deployment)["review"]
            review_reference = {"review_id": first["id"], "digest": first["digest"]}
            service.decide(
                job_id, {"action": "revise", "comments": [OPEN, DONE], **review_reference}
            )
            job = reviewed(service, job_id, first["id"], deployment)
    heard = _heard(model)
    assert "Comment on line 6 of `days/count.py`, marked with `>` in the change:" in heard
    assert "\n    -    return abs(year - EPOCH)\n  > +    return year - EPOCH\n```" in heard
    assert "```\n\nSay what a negative number means.\n" in heard
    (decision,) = job["review"]["payload"]["decisions"]
    assert decision["feedback"] == ""
    sent_comments = [
        (comment["text"], comment["outdated"], comment["now"]) for comment in decision["comments"]
    ]
    assert sent_comments == [(OPEN["text"], False, 6), (DONE["text"], True, None)]
    assert [comment["text"] for comment in job["decisions"][0]["comments"]] == [
        OPEN["text"],
        DONE["text"],
    ]
    assert job["review"]["payload"]["answer"] == ANSWER


def _heard(model: RepairingModel) -> str:
    """The text that the model received with the decision."""
    sent_texts = (message.text for request in model.requests for message in request.messages)
    return next(text for text in sent_texts if "Comment on line" in text)


def test_a_person_edits_files_of_a_repository(deployment: Deployment, tmp_path: Path) -> None:
    repository = project(tmp_path / "project")
    with ProviderServer(RepairingModel().turn) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:
            spec = {**SPEC, "repo": {"ref": "main"}}
            job_id = str(service.submit(spec, bundle=repository.bundle())["id"])
            first = reviewed(service, job_id, "", deployment)["review"]
            source = service.file(job_id, "days/count.py").decode()
            files = {"days/count.py": f"{source}\n# checked by hand\n", "README.md": "Edited.\n"}
            service.decide(job_id, {"action": "edit", "files": files})
            job = reviewed(service, job_id, first["id"], deployment)
            patch = service.patch(job_id).decode()
            second = job["review"]
            service.decide(job_id, {"action": "edit", "files": {".git/config": "x", "a.py": "x"}})
            job = reviewed(service, job_id, second["id"], deployment)
            assert service.patch(job_id).decode() == patch
    assert "+# checked by hand" in patch
    assert "+Edited." in patch
    assert second["verdict"]["level"] == first["verdict"]["level"] == "amber"
    assert second["digest"] != first["digest"]
    assert second["payload"]["decisions"][0]["files"].keys() == files.keys()
    refused = job["review"]["payload"]["refused_edit"]
    assert refused == "files in .git belong to git, and no change of them is kept"
