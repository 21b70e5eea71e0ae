"""Each type of problem in docs/api.md is a class of errors."""

from __future__ import annotations

import pickle
import re
import traceback
from pathlib import Path

import pytest
from support.servers.tiny_service import TinyService, problem

import fettle
from fettle import Client, Service
from fettle.errors import ApiError, BadSettings, FettleError, JobCancelled, JobFailed, NotFettle
from fettle.problems import TYPES, StaleReview

DOCS = Path(__file__).parents[3] / "docs" / "api.md"


def test_the_table_of_types_in_the_documentation_has_the_classes() -> None:
    rows = re.findall(
        r"^\| `(/problems/[a-z-]+)` \| \d{3} \| (?:yes|no) \|$", DOCS.read_text(), re.MULTILINE
    )
    assert sorted(rows) == sorted(TYPES)
    assert len(set(TYPES.values())) == len(TYPES)
    for kind, error in TYPES.items():
        assert issubclass(error, ApiError)
        assert error.__name__.lower() == kind.removeprefix("/problems/").replace("-", "")


@pytest.mark.parametrize("kind", [*TYPES, "/problems/of-a-later-release"])
def test_a_problem_raises_the_class_of_its_type(tiny: TinyService, kind: str) -> None:
    errors = [{"field": "task", "message": "too long"}, {"field": "model", "message": "unknown"}]
    tiny.on("GET /jobs/j1", problem(409, "No", "2 errors", type=kind, errors=errors, limit=7))
    with Service(tiny.url, "k") as service, pytest.raises(ApiError) as raised:
        service.job("j1")
    assert type(raised.value) is TYPES.get(kind, ApiError)
    assert raised.value.type == kind
    assert raised.value.status == 409
    assert raised.value.fields == ("task: too long", "model: unknown")
    assert str(raised.value) == "No: task: too long; model: unknown"
    assert raised.value.problem["limit"] == 7


def test_an_error_reaches_another_process() -> None:
    with Client("http://127.0.0.1:9", "k") as client:
        errors = [
            TYPES["/problems/not-found"]({"title": "No", "detail": "gone", "status": 404}, "/x"),
            NotFettle("http://fettle.test", "is HTTP 301"),
            JobCancelled("j1", client),
            JobFailed("j1", "timeout", "late", client),  # no process can take over a connection
        ]
        for error in errors:
            copied = pickle.loads(pickle.dumps(error))
            assert type(copied) is type(error)
            assert str(copied) == str(error)
            fields = vars(error) | ({"result": None} if hasattr(error, "result") else {})
            assert vars(copied) == fields


def test_a_traceback_shows_the_remedy() -> None:
    error = FettleError("no Fettle answers", remedy="start it")
    assert traceback.format_exception(error)[-1] == "start it\n"


def test_the_names_of_the_package_are_listed() -> None:
    assert {"Client", "AsyncClient", "run"} <= set(dir(fettle))


def test_a_decision_on_a_review_that_is_not_open_any_more_is_refused(tiny: TinyService) -> None:
    tiny.on("POST /jobs/j1/review", problem(409, "Another", type="/problems/stale-review"))
    with Client(tiny.url, "k") as client, pytest.raises(StaleReview):
        client.calls.decide("j1", {"action": "approve", "review_id": "v1"})


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("ftp://fettle.test", "k"),
        ("fettle.test:8000", "k"),
        ("http://", "k"),
        ("http://[::1", "k"),
        ("http://fettle.test/\udcff", "k"),
        ("https://fettle.test", "sch\u00fcssel"),
        ("https://fettle.test", "a\nb"),
        ("https://fettle.test", "a "),
    ],
)
def test_an_address_or_a_key_that_cannot_be_used_is_refused(url: str, key: str) -> None:
    with pytest.raises(BadSettings):
        Client(url, key)


@pytest.mark.parametrize("proxy", ["socks5://me:hush@proxy:1080", "http://proxy:port"])
def test_a_proxy_that_cannot_be_used_is_refused_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(BadSettings, match="a proxy of") as refused:
        Client("https://fettle.test", "k")
    assert "hush" not in str(refused.value)
    with Client("http://127.0.0.1:9", "k"):  # reached without a proxy
        pass
