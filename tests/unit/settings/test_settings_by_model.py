"""Settings for individual models: headers, fields of the body, and the capabilities of a server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from agents.models.capabilities.record import Capabilities
from settings.models import ModelSettings
from settings.starting.provenance import complaints, trace
from settings.worker import WorkerSettings
from worker.adapters.recordings import redaction

HEADERS, BODY, CAPABILITIES = (
    "FETTLE_MODEL_HEADERS",
    "FETTLE_MODEL_BODY",
    "FETTLE_MODEL_CAPABILITIES",
)

FIELDS = Capabilities.model_fields


def test_the_variables_are_json_objects_by_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADERS, '{"compatible": {"x-a": "1"}, "groq:small": {"x-b": null}}')
    monkeypatch.setenv(BODY, '{"google_genai:*": {"generationConfig": {"topK": 1}}}')
    monkeypatch.setenv(CAPABILITIES, '{"openai:*": {"drop": ["seed"], "context_tokens": 9}}')
    settings = ModelSettings()
    assert settings.headers() == {"compatible:*": {"x-a": "1"}, "groq:small": {"x-b": None}}
    assert settings.model_body == {"google_genai:*": {"generationConfig": {"topK": 1}}}
    assert settings.model_capabilities == {"openai:*": {"drop": ["seed"], "context_tokens": 9}}


def test_a_file_has_tables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "fettle.toml"
    path.write_text('[model_headers."compatible:*"]\nx-a = "1"\n[model_body.groq]\ntop_p = 0.5\n')
    monkeypatch.setenv("FETTLE_CONFIG", str(path))
    settings = ModelSettings()
    assert settings.headers() == {"compatible:*": {"x-a": "1"}}
    assert settings.model_body == {"groq:*": {"top_p": 0.5}}


def test_nothing_is_set_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (HEADERS, BODY, CAPABILITIES):
        monkeypatch.setenv(name, "")  # the value that compose sends
    settings = ModelSettings()
    assert (settings.headers(), settings.model_body, settings.model_capabilities) == ({}, {}, {})


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        (HEADERS, "{", "is not valid JSON"),
        (HEADERS, "[]", "is not a JSON object"),
        (
            HEADERS,
            '{"grok:*": {}}',
            "there is no provider 'grok'; the providers are groq, google_genai",
        ),
        (HEADERS, '{"groq:*": "x"}', "the value of 'groq:*' is not a JSON object"),
        (HEADERS, '{"groq:*": {"x y": "1"}}', "groq:*: 'x y' is not the name of an HTTP header"),
        (HEADERS, '{"groq:*": {"x": 1}}', "the value of x has to be one line of ASCII text"),
        (HEADERS, '{"groq:*": {"x": "a\\nb"}}', "the value of x has to be one line"),
        (CAPABILITIES, '{"groq:*": {"drop": "x"}}', "groq:*: drop: Input should be a valid list"),
        (CAPABILITIES, '{"groq:*": {"max_tokens": 1}}', "the fields are drop, rename, add"),
        (CAPABILITIES, '{"groq:*": {"context_tokens": 0}}', "context_tokens: Input should be grea"),
    ],
)
def test_a_wrong_value_gets_a_reason(
    name: str, value: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as caught:
        ModelSettings()
    assert [
        f"{name} (environment): " in complaint
        for complaint in complaints(ModelSettings, caught.value)
    ]
    assert reason in complaints(ModelSettings, caught.value)[0]


def test_headers_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(HEADERS, json.dumps({"compatible:*": {"x-key": "hidden-key-1"}}))
    assert "hidden-key-1" not in repr(ModelSettings())
    values = {setting.variable: setting.value for setting in trace(ModelSettings)}
    assert values[HEADERS] == "********"
    assert redaction(WorkerSettings()).text("x hidden-key-1 y") == "x <secret-removed> y"
    monkeypatch.setenv(HEADERS, json.dumps({"groq:*": {"authorization": "Bearer hidden-key-1"}}))
    assert redaction(WorkerSettings()).text("bad key hidden-key-1") == "bad key <secret-removed>"
    monkeypatch.setenv(HEADERS, json.dumps({"compatible:*": {"x-key": ["hidden-key-1"]}}))
    with pytest.raises(ValidationError) as caught:
        ModelSettings()
    assert "hidden-key-1" not in str(caught.value)


def test_an_operator_may_set_every_field_of_a_record(monkeypatch: pytest.MonkeyPatch) -> None:
    record = {name: field.get_default(call_default_factory=True) for name, field in FIELDS.items()}
    del record["learned_at"], record["expires_at"]
    record = {**record, "drop": []}
    monkeypatch.setenv(CAPABILITIES, json.dumps({"groq:*": record}))
    assert Capabilities(**ModelSettings().model_capabilities["groq:*"]) == Capabilities()
