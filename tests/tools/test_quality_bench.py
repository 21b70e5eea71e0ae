"""`fettle bench` through a real service, against a model with designed pass rates."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.processes.deployment import running_deployment
from support.processes.fronts import front

from cli.main import run
from cli.output import Screen
from lab.evals.report.results import read_results
from lab.evals.run import service
from lab.evals.run.designed import Design, Kind
from lab.evals.sources import sets
from lab.provider import ProviderServer

MODEL = "groq:designed"
KINDS: list[Kind] = ["right", "repairs", "never", "plausible"]
SECRET = "a line that the model must never see"


def line(number: int) -> dict[str, Any]:
    tests = f"""
from solution import f{number}

# {SECRET} {number}


def test_it():
    assert f{number}(20) == {20 + number}
"""
    return {
        "id": f"e{number}",
        "task": f"Write f{number}(x), which adds {number} to x, into solution.py.",
        "tests": tests,
        "right": f"def f{number}(x):\n    return x + {number}\n",
        "wrong": f"def f{number}(x):\n    return x - {number}\n",
    }


@dataclass
class Measuring:
    """A service, the model that it calls, and a file of exercises."""

    url: str
    server: ProviderServer
    data: Path
    out: Path

    def bench(self, *options: str) -> int:
        fixed = ["--model", MODEL, "--out", str(self.out), "--at-once", "4"]
        return run(["--url", self.url, "bench", str(self.data), *fixed, *options])

    def request_count(self) -> int:
        return len(self.server.requests)


@pytest.fixture(scope="module")
def measuring(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measuring]:
    folder = tmp_path_factory.mktemp("quality")
    data = folder / "tiny.jsonl"
    exercises = [line(n) for n in range(1, 5)]
    untested = {"id": "joke", "task": "Tell a joke about f9.", "right": "JOKE = 1\n"}
    data.write_text("".join(json.dumps(exercise) + "\n" for exercise in exercises))
    (folder / "judged.jsonl").write_text(json.dumps(untested) + "\n")
    all_exercises = [*sets.load(str(data), None, folder).exercises]
    all_exercises += sets.load(str(folder / "judged.jsonl"), None, folder).exercises
    design = Design(all_exercises, (*KINDS, "right"))
    with (
        ProviderServer(design.answer) as server,
        running_deployment(folder, GROQ_API_KEY="a") as deployment,
    ):
        deployment.worker(groq_base_url=server.groq_url)
        with front(deployment) as api:
            yield Measuring(api.url, server, data, folder / "out")


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", "")
    for name in ("FETTLE_URL", "FETTLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def result_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return printed


def test_with_repair_the_rates_are_the_designed_ones(measuring, capsys):
    assert measuring.bench("--json") == 0
    printed = result_of(capsys)
    assert (printed["first"]["share"], printed["final"]["share"]) == (1 / 4, 2 / 4)
    assert (printed["tries"], printed["measured"]) == (4, 4)
    assert printed["failures"] == {"name": 2, "hidden_tests": 1}
    results_by_id = {result.id: result for result in read_results(Path(printed["file"]))[1]}
    passed = {
        name: (result.first.passed, result.final.passed) for name, result in results_by_id.items()
    }
    assert passed == {
        "e1": (True, True),
        "e2": (False, True),
        "e3": (False, False),
        "e4": (False, False),
    }
    # The verification of this exercise calls no function of the solution.
    assert results_by_id["e4"].status == "failed"
    assert results_by_id["e2"].cost["calls"] > results_by_id["e1"].cost["calls"]
    assert Path(printed["file"]).with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    # a second measurement sends no request, and prints the same table
    before = measuring.request_count()
    assert measuring.bench("--json") == 0
    assert result_of(capsys) == printed
    assert measuring.request_count() == before


def test_without_repair_no_call_follows_the_first_run(measuring, capsys):
    before = measuring.request_count()
    assert measuring.bench("--no-repair", "--json") == 0
    printed = result_of(capsys)
    assert (printed["first"]["share"], printed["final"]["share"]) == (1 / 4, 1 / 4)
    results = read_results(Path(printed["file"]))[1]
    assert {(result.runs, result.revisions) for result in results} == {(1, 1)}
    behind_a_run = [
        request
        for request in measuring.server.requests[before:]
        if request.forced_tool is None
        and any(call.name == "verify" for m in request.messages for call in m.tool_calls)
    ]
    assert behind_a_run == []


def test_hidden_tests_reach_no_model(measuring):
    assert measuring.request_count() > 20
    request_bodies = "\n".join(json.dumps(request.body) for request in measuring.server.requests)
    assert "adds 1 to x" in request_bodies
    assert SECRET not in request_bodies
    assert "f1(20)" not in request_bodies


def test_a_result_leads_to_the_transcript_of_its_job(measuring, capsys):
    results = read_results(measuring.out / "tiny_groq-designed.jsonl")[1]
    repaired = next(result for result in results if result.id == "e2")
    assert repaired.models == (MODEL,)
    assert run(["--url", measuring.url, "export", str(repaired.job)]) == 0
    text = capsys.readouterr().out
    headings = ("## Task", "## What happened", "## End")
    assert sorted(headings, key=text.index) == list(headings)
    assert "solution.py" in text.partition(headings[1])[2]
    assert SECRET not in text
    assert run(["--url", measuring.url, "export", str(repaired.first.verification)]) == 0
    assert "test_hidden.py" in capsys.readouterr().out


def test_two_results_are_compared(measuring, capsys, tmp_path):
    with_repair, without = (
        measuring.out / f"tiny_groq-designed{end}.jsonl" for end in ("", "_no-repair")
    )
    png = tmp_path / "both.png"
    code = run(["bench", "compare", str(without), str(with_repair), "--json", "--png", str(png)])
    printed = result_of(capsys)
    assert code == 0
    assert (printed["first"], printed["second"]) == ("no repair", "repair")
    first, final = printed["measures"]
    assert first["only_first"] == first["only_second"] == []
    assert (final["only_first"], final["only_second"], final["p"]) == ([], ["e2"], 1.0)
    assert png.read_bytes().startswith(b"\x89PNG")


def test_an_exercise_without_tests_is_judged_by_a_model(measuring, capsys, monkeypatch):
    monkeypatch.setenv("GROQ_API_KEY", "a")
    monkeypatch.setenv("FETTLE_GROQ_BASE_URL", measuring.server.groq_url)
    data = measuring.data.with_name("judged.jsonl")
    options = ["--model", MODEL, "--judge", MODEL, "--out", str(measuring.out), "--json"]
    assert run(["--url", measuring.url, "bench", str(data), *options]) == 0
    printed = result_of(capsys)
    assert (printed["score"], printed["scored"], printed["first"]) == (2, 1, None)
    (result,) = read_results(Path(printed["file"]))[1]
    assert result.score["input_tokens"] == 200
    # The price of this model is unknown, and must never be shown as zero.
    assert result.score["cost_usd"] is None


def test_shipped_solutions_are_tried_without_a_model(measuring, capsys):
    before = measuring.request_count()
    at = ["--url", measuring.url, "bench", str(measuring.data), "--canonical", "--json"]
    assert run(at) == 0
    printed = result_of(capsys)
    assert (printed["tasks"], printed["passed"], printed["wrong_solutions"]) == (4, 4, 4)
    bad = measuring.data.with_name("bad.jsonl")
    swapped = {**line(5), "right": line(5)["wrong"], "wrong": line(5)["right"]}
    bad.write_text(json.dumps(swapped) + "\n")
    assert run(["--url", measuring.url, "bench", str(bad), "--canonical", "--json"]) == 1
    assert result_of(capsys)["passed"] == 0
    assert measuring.request_count() == before


def test_the_right_solutions_of_fettles_exercises_pass_and_the_wrong_ones_fail(capsys):
    run(["bench", "custom", "--canonical", "--json"])
    printed = result_of(capsys)
    assert printed["failures"] == []
    assert (printed["tasks"], printed["passed"], printed["wrong_solutions"]) == (13, 13, 13)


def test_a_temporary_service_has_the_settings_of_the_command(monkeypatch, tmp_path):
    file = tmp_path / "ours.toml"
    file.write_text("max_output_tokens = 1000\n")
    monkeypatch.setenv("FETTLE_CONFIG", str(file))
    monkeypatch.setenv("FETTLE_MODEL", "recording:demo-kmeans")
    with service.running(None, Screen(stderr=True), None) as api:
        (worker, *_) = api.system()["workers"]
        assert worker["call_tokens"] == 9_000
        assert worker["models"]["default"] == "recording:demo-kmeans"
