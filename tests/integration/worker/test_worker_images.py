"""Images that a job may request: real workers, with an engine's containers."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front
from support.servers import docker_engine as engines

from fettle import Service
from lab.provider import ProviderServer
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.skipif(not engines.AVAILABLE, reason=engines.header())
MODEL = "groq:llama-3.3-70b-versatile"
OTHER = "sandbox-with-a-mark:2"
LOOK = "import os; print('marked' if os.path.exists('/opt/venv/mark') else 'plain')"


@pytest.fixture
def deployment(tmp_path: Path, docker_engine: engines.Engine) -> Iterator[Deployment]:
    """Workers that offer a second image: the first image with one more file."""
    _mark(docker_engine.host)
    with running_deployment(tmp_path, GROQ_API_KEY="a") as created:
        created.env |= {
            "FETTLE_SANDBOX": "docker",
            "FETTLE_SANDBOX_ENGINE": docker_engine.host,
            "FETTLE_SANDBOX_IMAGES": OTHER,
        }
        yield created


def _mark(host: str) -> None:
    client = docker.DockerClient(base_url=host)
    created = client.containers.create(engines.IMAGE, "none")
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("mark"))
    created.put_archive("/opt/venv", content.getvalue())
    created.commit(*OTHER.split(":"))
    created.remove()
    client.close()


def test_a_job_runs_in_the_image_that_it_names(deployment: Deployment) -> None:
    with ProviderServer(lambda request: works(request, LOOK)) as server:
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api, Service(api.url, DEVELOPMENT_KEY) as service:

            def printed(**terms: str) -> str:
                spec = {"task": "Look.", "model": MODEL, "evidence": "none", **terms}
                job_id = str(service.submit(spec)["id"])
                for _ in service.events(job_id):
                    pass
                job = service.job(job_id)
                return str(job["runs"][0]["stdout"]["text"] if job["runs"] else job["detail"])

            assert printed() == "plain\n"
            assert printed(image=OTHER) == "marked\n"
            assert printed(image="another") == (
                f"the job asks for the image another, and this worker offers {OTHER} "
                "(FETTLE_SANDBOX_IMAGES)"
            )
