"""Errors of accounts, models, addresses and lengths, and the fallback model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from support.errors.bodies import ACCOUNTS, MODELS, POLICY, Body
from support.errors.gateways import ADDRESSES, GATEWAYS
from support.errors.lengths import TOO_LONG
from support.quirks.quirk import When, always, answers, first, refuses, role
from support.quirks.row import Ran, Row, fails, on_all, openai, waits

_PAGE = "<!DOCTYPE html><html><head><title>Sign in</title></head></html>"
_CREDIT = "Your credit balance is too low to access the Anthropic API."


def _answers(when: When, body: Body) -> Any:
    text = body.body if isinstance(body.body, str) else json.dumps(body.body)
    return answers(when, body.status, text, **dict(body.headers))


def _final(bodies: Iterable[Body]) -> list[Row]:
    """A job fails at once with the text of the body; a fallback, if it is called, does the job."""
    rows = []
    for body in bodies:
        if body.retry is not None:
            continue
        title, quirk = f"{body.source} ({body.status})", _answers(always, body)
        if body.words:
            rows.append(openai(f"{title}: alone", quirk, end=fails(*body.words)))
        end = {} if body.stand_in else {"end": fails(*body.words)}
        rows.append(openai(f"{title}: with a stand-in", quirk, stand_in=(), **end))
    return rows


def _once(ran: Ran) -> bool:
    return len(ran.requests) == 1


ROWS: list[Row] = [
    *_final([*ACCOUNTS, *MODELS, *POLICY, *GATEWAYS, *ADDRESSES]),
    *on_all(
        "no credit, in the critic's call alone",
        refuses(role("critic"), 400, _CREDIT),
        end=fails("no credit left", _CREDIT),
    ),
    *on_all(
        "no credit, in the critic's call alone, with a stand-in",
        refuses(role("critic"), 400, _CREDIT),
        stand_in=(),
    ),
    *on_all(
        "the critic's request is refused: the provider's sentence",
        refuses(role("critic"), 400, "messages: at least one message is odd"),
        end=fails("the critic's model refuses the request", "at least one message is odd"),
    ),
    *on_all(
        "the account is disabled, with a stand-in",
        refuses(always, 400, "This organization has been disabled."),
        stand_in=(),
    ),
    *on_all(
        "a path that is unknown",
        answers(always, 404, '{"detail":"Not Found"}'),
        end=fails("404: Not Found, from http://127.0.0.1:", "_BASE_URL"),
        check=_once,
    ),
    *on_all(
        "a path that is unknown, in plain text",
        answers(always, 404, "404 page not found", "text/plain"),
        end=fails("404 page not found", "_BASE_URL"),
        check=_once,
    ),
    *on_all(
        "a redirect to a sign-in page",
        answers(always, 302, location="https://login.example/?next=x"),
        end=fails("a redirect to https://login.example/,", "_BASE_URL").but_not("next=x"),
        check=_once,
    ),
    *on_all(
        "a challenge of a firewall",
        answers(always, 403, _PAGE, "text/html"),
        end=fails("a web page, 'Sign in'", "_BASE_URL"),
        check=_once,
    ),
    *on_all(
        "a gateway's page, once in each step",
        answers(first(), 502, "<html><title>502 Bad Gateway</title></html>", "text/html"),
    ),
    *on_all(
        "a gateway's page for good",
        answers(always, 502, "<html><title>502 Bad Gateway</title></html>", "text/html"),
        end=waits("a web page, '502 Bad Gateway'"),
    ),
    *on_all("a sign-in page for a moment", answers(first(), 200, _PAGE, "text/html")),
    *on_all(
        "a quota of the day",
        refuses(always, 429, "Rate limit reached on requests per day (RPD): Limit 1000"),
        end=waits("the quota of the day is used up"),
    ),
    *on_all(
        "a quota of the day, with a stand-in",
        refuses(always, 429, "Rate limit reached on requests per day (RPD): Limit 1000"),
        stand_in=(),
    ),
    *(
        openai(
            f"too long in the words of {source}",
            refuses(always, status, message),
            end=fails("after all possible cuts", message),
        )
        for source, (status, message) in TOO_LONG.items()
    ),
]
