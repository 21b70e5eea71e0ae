"""The HTTP client against a real server with faults."""

from __future__ import annotations

import copy
import json
import math
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import pytest
from support.servers.tiny_service import Answer, event, job, problem, serving, stream

from cli.errors import from_client
from cli.exit_codes import BAD_USAGE
from fettle import AsyncClient, Job, Service
from fettle._sync import events
from fettle.errors import ApiError, BadArgument, FettleError, NotFettle, ServiceUnreachable
from settings.base import DEVELOPMENT_KEY


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def service(tiny, slept):
    with Service(tiny.url, "secret", sleep=slept.append) as service:
        yield service


@contextmanager
def dropping(connections: int) -> Iterator[str]:
    """A service that closes this number of connections after it has read a request."""
    accepted = json.dumps(job(status="queued")).encode()
    head = f"HTTP/1.1 202 Accepted\r\nContent-Length: {len(accepted)}\r\n"
    answer = (
        f"{head}Content-Type: application/json\r\nConnection: close\r\n\r\n".encode() + accepted
    )

    def serve() -> None:
        for number in range(connections + 1):
            try:
                connection, _ = listener.accept()
            except OSError:  # the test has ended
                return
            with connection:
                connection.recv(65_536)
                if number == connections:
                    connection.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_every_call_sends_the_key(tiny, service):
    tiny.on("GET /jobs/j1", Answer(200, job()))
    assert service.job("j1")["id"] == "j1"
    assert tiny.requests[0].headers["x-api-key"] == "secret"


def test_a_submission_is_repeated_with_the_same_idempotency_key(tiny, service, slept):
    busy = problem(503, "Redis cannot be reached", retryable=True)
    tiny.on("POST /jobs", busy, problem(429, "Too many requests"), Answer(202, job()))

    assert service.submit({"task": "x"})["id"] == "j1"

    assert len({request.headers["idempotency-key"] for request in tiny.requests}) == 1
    assert slept == [1.0, 1.0]  # the delay that Retry-After requests


@pytest.mark.parametrize(
    "call",
    [
        lambda service, text: service.submit({"task": text}),
        lambda service, text: service.submit({"task": text}, {"a.bin": b"\0"}),
        lambda service, text: service.submit({"task": "x"}, {"a.txt": text}),
        lambda service, text: service.job(text),
        lambda service, text: service.file("j1", text),
        lambda service, text: service.jobs(text=text),
        lambda service, text: list(service.events(text)),
    ],
)
def test_a_text_that_is_not_unicode_is_refused_before_it_is_sent(tiny, service, call):
    with pytest.raises(BadArgument, match=r"not valid Unicode: .*typed .udcff") as error:
        call(service, "typed \udcff")
    assert from_client(error.value).exit_code == BAD_USAGE
    assert "UTF-8" in from_client(error.value).next_step
    assert not tiny.requests


def test_a_number_that_json_cannot_hold_is_refused(tiny, service):
    with pytest.raises(BadArgument, match="cannot be written as JSON"):
        service.decide("j1", {"answers": [math.nan]})
    assert not tiny.requests


def test_a_decision_is_not_repeated(tiny, service):
    tiny.on("POST /jobs/j1/review", problem(503, "Redis cannot be reached"))
    with pytest.raises(ApiError):
        service.decide("j1", {"action": "approve"})
    assert len(tiny.requests) == 1


def test_a_lost_connection_is_made_again_if_that_has_no_second_effect(slept):
    with dropping(2) as url, Service(url, "k", sleep=slept.append) as service:
        assert service.submit({"task": "x"})["id"] == "j1"
    assert len(slept) == 2
    with (
        dropping(1) as url,
        Service(url, "k", sleep=slept.append) as service,
        pytest.raises(ServiceUnreachable),
    ):
        service.decide("j1", {"action": "approve"})
    assert len(slept) == 2


@contextmanager
def scripted(
    answer: Callable[[httpx.Request], httpx.Response], slept: list[float]
) -> Iterator[Service]:
    """A client without a server: `answer` makes or refuses each connection."""
    transport = httpx.MockTransport(answer)
    with (
        httpx.Client(transport=transport) as http,
        Service("http://fettle.test", "k", http=http, sleep=slept.append) as service,
    ):
        yield service


def test_a_submission_outlives_a_restart_of_the_service(slept):
    answers = [httpx.RemoteProtocolError("gone"), *[httpx.ConnectError("refused")] * 2]

    def answer(_request: httpx.Request) -> httpx.Response:
        if answers:
            raise answers.pop(0)
        return httpx.Response(202, json=job(status="queued"))

    with scripted(answer, slept) as service:
        assert service.submit({"task": "x"})["id"] == "j1"
        assert slept == sorted(slept)
        answers.append(httpx.ConnectError("certificate verify failed"))
        with pytest.raises(ServiceUnreachable, match="certificate verify failed"):
            service.submit({"task": "x"})  # no service was there: the caller hears it at once
    assert len(slept) == 3


def test_a_quiet_stream_outlives_any_number_of_cuts(slept, monkeypatch):
    seconds = 0.0
    cuts = 30

    def answer(_request: httpx.Request) -> httpx.Response:
        nonlocal cuts
        cuts -= 1
        head = {"Content-Type": "text/event-stream"}
        text = "" if cuts else event(1, "succeeded")
        return httpx.Response(200, content=cut_after_a_minute(text), headers=head)

    def cut_after_a_minute(text: str) -> Iterator[bytes]:
        nonlocal seconds
        yield text.encode()
        seconds += 60
        raise httpx.ReadError("a proxy ends the connection")

    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: seconds))
    with scripted(answer, slept) as service:
        assert [received.seq for received in service.events("j1")] == [1]


def test_the_password_of_an_address_is_in_no_error_and_on_no_page(tiny):
    tiny.on("GET /jobs/j1", Answer(301, "", {"Location": "https://fettle.test/jobs/j1"}))
    url = tiny.url.replace("http://", "http://me:hush@")
    with Service(url, "k") as service, pytest.raises(NotFettle) as refused:
        Job(service, "j1").state()
    assert "hush" not in str(refused.value)
    assert "leads to https://fettle.test/" in str(refused.value)
    assert Job(service, "j1").page == f"{tiny.url}/app/jobs/j1"
    assert tiny.requests[0].headers["authorization"] == "Basic bWU6aHVzaA=="


@pytest.mark.parametrize("name", ["", 'a"b.txt', "a\nb.txt", "a\udce9.txt"])
def test_a_file_that_would_get_another_name_is_refused(tiny, service, name):
    with pytest.raises(FettleError, match="cannot have this name"):
        service.submit({"task": "x"}, {name: b"x"})
    assert tiny.requests == []


@pytest.mark.parametrize("key", ["a\nb", "a ", "sch\u00fcssel"])
def test_an_idempotency_key_that_no_header_holds_is_refused(service, key):
    with pytest.raises(FettleError, match="Idempotency-Key"):
        service.submit({"task": "x"}, once=key)


@pytest.mark.parametrize("seconds", ["nan", "inf", "1e9"])
def test_the_wait_for_a_busy_service_has_a_limit(tiny, service, slept, seconds):
    busy = Answer(503, "<html>", {"Content-Type": "text/html", "Retry-After": seconds})
    tiny.on("GET /jobs/j1", busy, Answer(200, job()))
    service.job("j1")
    assert slept == [20.0]


def test_a_client_of_the_caller_follows_no_redirect_with_the_key(tiny):
    with serving() as stranger, httpx.Client(follow_redirects=True) as http:
        tiny.on("GET /jobs/j1", Answer(302, "", {"Location": f"{stranger.url}/jobs/j1"}))
        with Service(tiny.url, "secret", http=http) as service, pytest.raises(NotFettle):
            service.job("j1")
        assert not http.is_closed
        assert stranger.requests == []


def test_the_environment_names_the_service_and_the_key(tiny, monkeypatch):
    monkeypatch.setenv("FETTLE_URL", f"{tiny.url}/")
    monkeypatch.setenv("FETTLE_API_KEY", "of the environment")
    tiny.on("GET /jobs/j1", Answer(200, job()))
    with Service() as service:
        service.job("j1")
    assert tiny.requests[0].headers["x-api-key"] == "of the environment"
    monkeypatch.delenv("FETTLE_API_KEY")
    with Service() as service:
        assert service.key == DEVELOPMENT_KEY


def test_a_problem_is_shown_with_its_fields(tiny, service):
    errors = [{"field": "task", "message": "too long", "limit": 20_000}]
    tiny.on("POST /jobs", problem(422, "The request is not valid", "1 error", errors=errors))
    with pytest.raises(ApiError, match=r"The request is not valid: task: too long") as error:
        service.submit({"task": ""})
    assert from_client(error.value).exit_code == BAD_USAGE


@pytest.mark.parametrize(("status", "code"), [(401, 1), (404, 1), (409, 1), (413, 2), (500, 1)])
def test_exit_codes_of_refusals(tiny, service, status, code):
    tiny.on("GET /jobs/j1", problem(status, "No"))
    with pytest.raises(ApiError) as error:
        service.job("j1")
    assert from_client(error.value).exit_code == code


def test_a_service_that_is_not_fettle_is_unreachable(tiny, service):
    tiny.on("GET /jobs/j1", Answer(200, "<html>hello</html>", {"Content-Type": "text/html"}))
    with pytest.raises(ServiceUnreachable, match="is not Fettle"):
        service.job("j1")


def test_the_key_is_sent_to_no_other_server(tiny, service):
    with serving() as stranger:
        for status in (301, 302, 307, 308):
            tiny.on("GET /jobs/j1", Answer(status, "", {"Location": f"{stranger.url}/jobs/j1"}))
            tiny.on("POST /jobs", Answer(status, "", {"Location": f"{stranger.url}/jobs"}))
            tiny.on("GET /jobs/j1/events", Answer(status, "", {"Location": stranger.url}))
            for call in (
                lambda: service.job("j1"),
                lambda: service.submit({"task": "x"}, bundle=b"x"),
                lambda: list(service.events("j1")),
            ):
                with pytest.raises(ServiceUnreachable, match=f"HTTP {status}"):
                    call()
        for link in (f"{stranger.url}/text", "https://fettle.test/"):
            with pytest.raises(FettleError, match="leads to another server"):
                service.text(link)
        assert stranger.requests == []


def test_no_name_leads_to_another_call(tiny, service):
    with pytest.raises(ApiError):
        service.job("../keys")
    assert tiny.requests.pop().path == "/jobs/..%2Fkeys"
    for call in (
        lambda: service.job(".."),
        lambda: service.cancel("."),
        lambda: service.file("j1", "../../../keys"),
        lambda: service.artifact("j1", "../x"),
        lambda: service.text("/jobs/j1/artifacts/..?digest=0"),
        lambda: list(service.events("..")),
    ):
        with pytest.raises(FettleError, match="cannot be"):
            call()
    assert tiny.requests == []


def test_the_wait_for_a_result_continues_while_the_service_is_busy(tiny, service, slept):
    busy = problem(503, "Redis cannot be reached", retryable=True)
    tiny.on("GET /jobs/j1", *[busy] * 6, problem(404, "No such job"))
    with pytest.raises(ApiError, match="No such job"):
        Job(service, "j1").result()
    assert sum(slept) < 30


def test_the_result_waits_for_its_list_of_files(tiny, service, slept, monkeypatch):
    listed = {"files": [{"path": "a.txt", "digest": "0", "size": 1}]}
    busy = problem(503, "Redis cannot be reached", retryable=True)
    tiny.on("GET /jobs/j1/files", *[busy] * 6, Answer(200, listed))
    ended_job = Job(service, "j1")
    monkeypatch.setattr(ended_job, "_read", lambda *_: SimpleNamespace(status="succeeded"))
    assert list(ended_job.result().files) == ["a.txt"]


def test_the_wait_for_a_result_ends_in_time_without_a_service(slept):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    with (
        Service(f"http://127.0.0.1:{port}", "k", sleep=slept.append) as service,
        pytest.raises(ServiceUnreachable),
    ):
        Job(service, "j1").result(timeout=0)
    assert slept == []


@contextmanager
def silent() -> Iterator[str]:
    """A service that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def test_the_time_of_the_caller_limits_each_request(tiny, service, slept):
    with silent() as url, Service(url, "k") as waiting:
        start = time.monotonic()
        with pytest.raises(ServiceUnreachable, match="did not answer in time"):
            Job(waiting, "j1").result(timeout=0.5)
        assert time.monotonic() - start < 5
    busy = problem(503, "Redis cannot be reached", retryable=True)
    busy.headers["Retry-After"] = "20"
    tiny.on("GET /jobs/j1", busy, problem(404, "No such job"))
    with pytest.raises(ApiError, match="No such job"):
        Job(service, "j1").result(timeout=5)
    assert slept == [pytest.approx(5, abs=1)]


async def test_the_time_of_the_caller_limits_each_request_of_a_task():
    with silent() as url:
        start = time.monotonic()
        async with AsyncClient(url, "k") as client:
            with pytest.raises(ServiceUnreachable, match="did not answer in time"):
                await client.job("j1").result(timeout=0.5)
        assert time.monotonic() - start < 5


def test_a_request_that_waits_has_time_for_its_wait(slept):
    limits = []

    def answer(request: httpx.Request) -> httpx.Response:
        limits.append(request.extensions["timeout"]["read"])
        return httpx.Response(200, json=job())

    with scripted(answer, slept) as service:
        service.job("j1", wait=60)  # the longest wait of the API
    assert limits[0] > 60


def test_a_broken_stream_is_resumed_without_duplicate_events(tiny, service):
    first = stream(event(1, "submitted"), event(2, "started"))
    second = stream(event(2, "started"), event(3, "planned"))
    third = stream(": heartbeat\n\n", event(4, "succeeded"))
    tiny.on("GET /jobs/j1/events", first, problem(503, "away"), second, third)

    assert [received.seq for received in service.events("j1")] == [1, 2, 3, 4]

    resumed = [request.headers["last-event-id"] for request in tiny.requests]
    assert resumed == ["0", "2", "2", "3"]


def test_a_stream_after_the_final_event_is_empty(tiny, service):
    tiny.on("GET /jobs/j1/events", Answer(204, ""))
    assert list(service.events("j1", after=4)) == []


def test_a_stream_that_cannot_be_resumed_is_abandoned(service, tiny, slept):
    tiny.on("GET /jobs/j1/events", problem(503, "Redis cannot be reached"))
    with pytest.raises(ApiError, match="Redis cannot be reached"):
        list(service.events("j1"))
    assert 30 < sum(slept) < 120


def test_an_answer_can_be_copied_as_any_mapping(tiny, service):
    tiny.on("GET /jobs/j1", Answer(200, job()))
    job_fields = service.job("j1")
    assert (
        copy.deepcopy(job_fields)
        == pickle.loads(pickle.dumps(job_fields))
        == type(job_fields)(job_fields)
        == job_fields
    )
    with pytest.raises(ServiceUnreachable, match="has no field `nothing`"):
        job_fields["spec"]["nothing"]
