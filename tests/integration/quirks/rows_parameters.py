"""Fields that servers refuse, and settings for gateways."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from support.quirks.quirk import Quirk, ReceivedRequest, When, answers, refuses
from support.quirks.row import Ran, Row, anthropic, does_not_succeed, fails, gemini, openai

from agents.models.capabilities.body import output_limit

_EXTRA = "Extra inputs are not permitted"
_CONTEXT = 20_000


def _somewhere(name: str, section: str) -> When:
    """For requests with a field of this name anywhere in a section of the body."""

    def contains(value: Any) -> bool:
        if isinstance(value, Mapping):
            return name in value or any(map(contains, value.values()))
        return isinstance(value, list) and any(map(contains, value))

    return lambda received: contains(received.body.get(section))


def _without_header(name: str, value: str) -> When:
    return lambda received: received.request.headers.get(name) != value


def _too_long(received: ReceivedRequest) -> bool:
    return (output_limit(received.body) or 0) > _CONTEXT // 4


def _refused_once(ran: Ran) -> bool:
    """The refused request and its next form were the only two for the first call of the job."""
    return len(ran.requests) == len(ran.charges()) + 1


def _gateway(*quirks: Quirk, **settings: Any) -> Row:
    names = ", ".join(settings)
    return openai(f"a gateway needs {names}", *quirks, options=settings, most_requests=5)


ROWS: list[Row] = [
    _gateway(
        refuses(_without_header("x-portkey-provider", "openai"), 400, "x-portkey-provider needed"),
        refuses(_without_header("api-key", "k-123"), 401, "Access denied"),
        headers={"compatible:*": {"x-portkey-provider": "openai", "api-key": "k-123"}},
    ),
    _gateway(
        refuses(
            lambda received: received.body.get("store") is not False, 400, "store must be false"
        ),
        refuses(lambda received: "temperature" in received.body, 400, "too hot"),
        bodies={"compatible:some-model": {"store": False, "temperature": None}},
    ),
    _gateway(
        refuses(lambda received: "tool_choice" in received.body, 500, "unexpected error"),
        capabilities={"compatible:*": {"drop": ["tool_choice"]}},
    ),
    openai(
        "a keyword of the tools' schemas is refused",
        refuses(
            _somewhere("additionalProperties", "tools"),
            400,
            "tools.0.function.parameters.additionalProperties: " + _EXTRA,
        ),
    ),
    gemini(
        "a keyword of the tools' schemas is an unknown name",
        refuses(
            _somewhere("additionalProperties", "tools"),
            400,
            'Invalid JSON payload received. Unknown name "additionalProperties" at '
            "'tools[0].function_declarations[0].parameters': Cannot find field.",
        ),
    ),
    openai(
        "all that can be refused is refused, each by FastAPI's list of details",
        *(
            answers(
                lambda received, name=name: name in received.body,
                422,
                f'{{"detail": [{{"loc": ["body", "{name}"], "msg": "{_EXTRA}"}}]}}',
            )
            for name in ("temperature", "stream_options", "tool_choice", "max_tokens")
        ),
        most_requests=9,
    ),
    anthropic(
        "the limit on output tokens leaves no room for the input, with the sum",
        refuses(
            _too_long,
            400,
            "input length and `max_tokens` exceed context limit: "
            f"{_CONTEXT * 3 // 4} + 8192 > {_CONTEXT}, decrease input length or `max_tokens`",
        ),
    ),
    openai(
        "one refusal is enough for all calls of a job",
        refuses(
            lambda received: "temperature" in received.body,
            400,
            "Unsupported parameter: 'temperature'",
        ),
        check=_refused_once,
    ),
    openai(
        "a refusal only mentions temperature: the job fails with the server's words",
        refuses(lambda received: True, 400, "The temperature of the reactor is high: 400 degrees"),
        end=fails("reactor"),
        most_requests=1,
    ),
    openai(
        "a field is named, and the refusal has another reason",
        refuses(lambda received: True, 400, "Unsupported parameter: 'temperature'"),
        end=does_not_succeed("temperature"),
        most_requests=2,
    ),
]
