"""`fettle models`: what workers offer, and whether it answers, by way of API and Redis."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes.deployment import Deployment, running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front

from benchmarks.provider import ProviderServer, Refusal, Reply, Request, Tokens, Turn

GOOD = "groq:llama-3.3-70b-versatile"
BAD = "groq:no-such-model"
LOCAL = "compatible:my-own"
KEYLESS = "anthropic:claude-haiku-5-5"


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="key", ANTHROPIC_API_KEY="") as made:
        yield made


def answers(request: Request) -> Turn:
    if request.model == "no-such-model":
        return Refusal(404, "The model `no-such-model` does not exist")
    return Reply("ready", tokens=Tokens(12, 1))


async def test_what_there_is_what_it_costs_and_whether_it_answers(
    deployment: Deployment, tmp_path: Path
) -> None:
    with ProviderServer(answers) as server, front(deployment) as api:
        env = environment(tmp_path, FETTLE_URL=api.url)
        alone = fettle("models", cwd=tmp_path, env=env)
        assert (alone.returncode, "none was seen lately" in alone.stdout) == (0, True)
        nobody = fettle("models", GOOD, cwd=tmp_path, env=env)
        assert (nobody.returncode, "none was seen lately" in nobody.stdout) == (1, True)
        async with api.client() as client:
            refused = await client.post("/models/check", json={"models": [GOOD]})
            assert (refused.status_code, refused.json()["type"]) == (503, "/problems/not-ready")

        deployment.worker(
            groq_base_url=server.groq_url,
            compatible_base_url=server.openai_url,
            model=f"{GOOD}, {LOCAL}",
            summary_model=KEYLESS,
            executor_escalation=BAD,
        )
        await deployment.ready()
        found = json.loads(fettle("models", "--json", cwd=tmp_path, env=env).stdout)
        assert found["roles"]["executor"] == [[GOOD, LOCAL], [BAD, GOOD, LOCAL]]
        assert found["roles"]["summary"] == [[KEYLESS]]
        offered = {each["name"]: each for each in found["offered"]}
        assert float(offered[GOOD]["output_usd"]) > float(offered[GOOD]["input_usd"]) > 0
        assert offered[LOCAL]["input_usd"] is None
        assert offered[KEYLESS]["missing"] == "a key: set ANTHROPIC_API_KEY where the workers run"

        checked = fettle("models", "--check", "--json", cwd=tmp_path, env=env)
        assert checked.returncode == 1
        results = {each["name"]: each for each in json.loads(checked.stdout)["checks"]}
        assert results[GOOD]["ok"]
        assert results[GOOD]["seconds"] >= results[GOOD]["first_token_seconds"] > 0
        assert (results[GOOD]["input_tokens"], results[GOOD]["output_tokens"]) == (12, 1)
        assert float(results[GOOD]["cost_usd"]) > 0
        assert (results[LOCAL]["ok"], results[LOCAL]["cost_usd"]) == (True, None)
        assert results[BAD]["error"] == (
            f"{BAD}: there is no such model (404: The model `no-such-model` does not exist); "
            "see `fettle models`, and name another"
        )
        assert "set ANTHROPIC_API_KEY" in results[KEYLESS]["error"]

        shown = fettle("models", GOOD, cwd=tmp_path, env=env)
        assert (shown.returncode, f"ok: {GOOD}" in shown.stdout) == (0, True), shown.stdout
        stranger = fettle("models", "nobody:x", cwd=tmp_path, env=env)
        assert (stranger.returncode, "not on the allow-list" in stranger.stderr) == (2, True)
