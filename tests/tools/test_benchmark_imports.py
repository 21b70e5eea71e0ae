"""A file of results from elsewhere becomes a benchmark only if all pages can show it."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from jobs.benchmarks import BenchmarkRefused, Measurement
from jobs.model.spec import BenchmarkSpec, JobKind, JobSpec
from lab.evals.errors import BadSet
from lab.evals.laboratory import LABORATORY
from lab.evals.sources import records

RESULTS = Path(__file__).parents[2] / "docs" / "benchmarks" / "designed-humaneval.jsonl"


def begin(content: str) -> Any:
    spec = JobSpec("x", kind=JobKind.BENCHMARK, benchmark=BenchmarkSpec(set="imported"))
    return LABORATORY.begin(Measurement("id", spec, ("a.jsonl", content.encode()), ""))


def merged(values: Any, changed: Any) -> Any:
    if not isinstance(changed, dict):
        return changed
    return {**values, **{key: merged(values.get(key) or {}, changed[key]) for key in changed}}


def test_results_of_the_command_are_accepted():
    assert begin(RESULTS.read_text())["tries"] == 164


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (0, {"set": {"digest": ["x"]}}),
        (0, {"set": {"digest": None}}),
        (0, {"set": {"name": "\ud800"}}),
        (0, {"settings": {"model": ["x"]}}),
        (0, {"settings": {"model": None}}),
        (1, {"cost": {"cost_usd": "NaN"}}),
        (1, {"cost": {"cost_usd": "Infinity"}}),
        (1, {"cost": {"cost_usd": "1e999999"}}),
        (1, {"cost": {"cost_usd": "1e-999999"}}),
        (1, {"cost": {"cost_usd": "-1"}}),
        (1, {"cost": {"input_tokens": float("nan")}}),
        (1, {"job_seconds": float("inf")}),
        (1, {"score": {"score": 1, "cost_usd": "NaN"}}),
        (1, {"id": "\ud800"}),
    ],
)
def test_values_that_no_page_can_show_are_refused(line, changed):
    lines = [json.loads(text) for text in RESULTS.read_text().splitlines()]
    lines[line] = merged(lines[line], changed)
    with pytest.raises(BenchmarkRefused, match=r"no results of `fettle bench`"):
        begin("".join(json.dumps(each) + "\n" for each in lines))


def test_deeply_nested_json_is_refused():
    with pytest.raises(BenchmarkRefused, match="not a result"):
        begin('{"kind": ' + "[" * 100_000 + "\n")


def test_a_small_gzipped_file_of_gigabytes_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b" " * 2_000))
    monkeypatch.setattr(records, "MOST_BYTES", 1_000)
    with pytest.raises(BadSet) as refused:
        records.read(path, dict)
    assert "more than 1,000 bytes" in refused.value.detail
