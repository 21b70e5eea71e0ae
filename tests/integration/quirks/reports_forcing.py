"""How a tool is forced: the forms of tool_choice that the server accepts, and their effect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from support.quirks.edits import arguments_json, as_text, forced, object_choice
from support.quirks.quirk import (
    Quirk,
    ReceivedRequest,
    When,
    answers,
    both,
    has,
    refuses,
    role,
    says,
)
from support.quirks.refusals import NAMED_TOOL
from support.quirks.row import (
    Row,
    anthropic,
    does_not_succeed,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    succeeds_or_fails,
)

from lab.provider import Reply

_DASHSCOPE = (
    "<400> InternalError.Algo.InvalidParameter: The tool_choice parameter does not support being "
    "set to required or object in thinking mode"
)
_STRUCTURED = role("planner", "critic")


def _forced_anyhow(received: ReceivedRequest) -> bool:
    """Whether a tool is forced, in any wire format."""
    match received.request.wire:
        case "openai":
            return forced(received)
        case "anthropic":
            return (received.body.get("tool_choice") or {}).get("type") in {"any", "tool"}
        case "gemini":
            config = (received.body.get("toolConfig") or {}).get("functionCallingConfig") or {}
            return config.get("mode") == "ANY"
        case _:
            return False


def _chosen(received: ReceivedRequest) -> bool:
    """Whether a tool_choice is sent at all."""
    return received.body.get("tool_choice") is not None


def _refused(message: str, when: When = forced, status: int = 400, **fields: Any) -> Quirk:
    return refuses(when, status, message, **fields)


def _bare(message: str, when: When, status: int = 400) -> Quirk:
    return answers(when, status, f'{{"error": "{message}"}}')


_AS_JSON = says(as_text(arguments_json), _STRUCTURED)
_FENCED = says(as_text(lambda call: f"```json\n{arguments_json(call)}\n```"), _STRUCTURED)


_LOCATED: dict[str, Any] = {
    "Zod's list of issues": {
        "error": {"issues": [{"path": ["tool_choice"], "message": "Invalid"}]}
    },
    "a list of issues as text": {"error": {"message": '[{"path": ["tool_choice"]}]'}},
    "keys of an object (.NET)": {"errors": {"$.tool_choice": ["Could not be converted."]}},
    "keys of a message (Python)": {"message": {"tool_choice": ["Not a valid mapping type."]}},
    "a pointer (Ajv)": {"errors": [{"instancePath": "/tool_choice", "message": "must be object"}]},
    "a pointer (JSON:API)": {"errors": [{"source": {"pointer": "/tool_choice"}, "detail": "bad"}]},
    "invalid-params (RFC 9457)": {"invalid-params": [{"name": "tool_choice", "reason": "auto"}]},
    "Google's violations": {
        "error": {
            "message": "Invalid.",
            "details": [{"fieldViolations": [{"field": "tool_choice"}]}],
        }
    },
    "a gateway's own object": {
        "message": '{"external_model_message": {"error": {"message": "bad tool_choice"}}}'
    },
}
"""Bodies of refusals that name tool_choice outside of a sentence, or in a nested field."""

ROWS: list[Row] = [
    *on_all("a plain server"),
    openai("Groq's client, a plain server", name="groq:openai/gpt-oss-20b"),
    openai("DeepSeek's client, a plain server", name="deepseek:deepseek-v4-flash"),
    openai("OpenRouter's client, a plain server", name="openrouter:openai/gpt-oss-20b"),
    openai("OpenAI's client, a plain server", name="openai:gpt-5.4-mini"),
    openai(
        "LM Studio refuses a named object in tool_choice, with a text for an error",
        _bare(NAMED_TOOL, object_choice),
        most_requests=5,
    ),
    openai(
        "a named object in tool_choice is refused with FastAPI's list of details",
        answers(
            object_choice,
            422,
            '{"detail": [{"type": "literal_error", "loc": ["body", "tool_choice", "literal"], '
            "\"msg\": \"Input should be 'none', 'auto' or 'required'\"}]}",
        ),
    ),
    openai(
        "Qwen refuses an object and `required` while it thinks, asked once",
        _refused(_DASHSCOPE, code="invalid_parameter_error", param=None),
        most_requests=5,
    ),
    openai(
        "DeepSeek v4 refuses an object and `required` while it thinks",
        _refused("Thinking mode does not support this tool_choice", param=None),
        name="deepseek:deepseek-v4-flash",
        most_requests=5,
    ),
    openai(
        "DeepSeek's reasoner refuses it in other words",
        _refused("deepseek-reasoner does not support this tool_choice"),
        name="deepseek:deepseek-v4-pro",
    ),
    openai(
        "Kimi refuses an object and `required` while it thinks",
        _refused("tool_choice 'specified' is incompatible with thinking enabled"),
    ),
    openai(
        "every tool_choice is refused",
        _refused("tool_choice is not supported by this model", _chosen, param="tool_choice"),
    ),
    openai(
        "every tool_choice is refused, and the model answers with plain JSON",
        _refused("Unrecognized request argument supplied: tool_choice", _chosen),
        _AS_JSON,
    ),
    openai(
        "`required` is refused by an old vLLM",
        _refused(
            "Invalid value for `tool_choice`: `tool_choice` must either be a named tool, "
            '"auto", or "none".',
            both(forced, lambda received: not object_choice(received)),
        ),
    ),
    openai(
        "OpenRouter finds no endpoint for tool_choice (404)",
        _refused("No endpoints found that support the provided 'tool_choice' value.", status=404),
        name="openrouter:openai/gpt-oss-20b",
    ),
    openai(
        "LiteLLM lists tool_choice as unsupported, with a code as text",
        _refused(
            "litellm.UnsupportedParamsError: together_ai does not support parameters: "
            "['tool_choice'], for model=some-model. To drop these, set "
            "`litellm.drop_params=True`",
            type="None",
            param="None",
            code="400",
        ),
    ),
    openai(
        "a Bedrock gateway refuses toolChoice in its own spelling",
        _refused(
            "This model doesn't support the toolConfig.toolChoice.any field. Remove "
            "toolConfig.toolChoice.any and try again."
        ),
    ),
    openai(
        "a proxy wraps the refusal of tool_choice in another error",
        _refused(
            "Provider returned error",
            metadata={"raw": '{"error":{"message":"' + _DASHSCOPE + '"}}', "provider_name": "x"},
        ),
        name="openrouter:qwen/qwen3.6-plus",
    ),
    openai(
        "llama.cpp ignores an object: it answers in prose, unless `required` forces a call",
        says(
            lambda reply: replace(reply, text="I would run it.", tool_calls=()),
            both(_STRUCTURED, lambda received: received.body.get("tool_choice") != "required"),
        ),
    ),
    openai("tool_choice is ignored: the model answers with plain JSON", _AS_JSON),
    openai("tool_choice is ignored: the model answers with JSON in a fence", _FENCED),
    openai(
        "Groq's model did not call the forced tool, and its text has the JSON",
        Quirk(
            refuse=refuses(
                role("critic"),
                400,
                "Tool choice is required, but model did not call a tool",
                code="tool_use_failed",
                failed_generation='{"verdict": "approve", "run": "r1"}',
            ).refuse
        ),
        name="groq:openai/gpt-oss-20b",
    ),
    openai(
        "vLLM without a tool-call parser refuses tools, and says which flags it needs",
        _refused(
            '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be '
            "set",
            lambda received: not forced(received),
        ),
        end=fails("--enable-auto-tool-choice"),
    ),
    openai(
        "llama.cpp without --jinja refuses tools with status 500",
        _refused("tools param requires --jinja flag", has("tools"), 500, type="server_error"),
        end=does_not_succeed("--jinja"),
    ),
    openai(
        "OpenRouter finds no endpoint with tools (404)",
        _refused("No endpoints found that support tool use.", has("tools"), 404),
        name="openrouter:some/model",
        end=fails("support tool use").but_not("there is no such model"),
    ),
    anthropic(
        "a model that thinks refuses a forced tool",
        _refused("Thinking may not be enabled when tool_choice forces tool use.", _forced_anyhow),
        most_requests=5,
    ),
    anthropic(
        "a gateway refuses tool_choice",
        _refused("tool_choice: Extra inputs are not permitted", has("tool_choice")),
    ),
    anthropic("a forced tool is ignored: the model answers with plain JSON", _AS_JSON),
    anthropic("a forced tool is ignored: the model answers with JSON in a fence", _FENCED),
    gemini(
        "the mode ANY is refused",
        _refused(
            "Forced function calling (mode = ANY) is not supported for this model.", _forced_anyhow
        ),
        most_requests=5,
    ),
    gemini(
        "a proxy does not know toolConfig",
        _refused(
            'Invalid JSON payload received. Unknown name "toolConfig": Cannot find field.',
            has("toolConfig"),
        ),
    ),
    gemini("a forced tool is ignored: the model answers with plain JSON", _AS_JSON),
    gemini("a forced tool is ignored: the model answers with JSON in a fence", _FENCED),
    ollama("the model answers with plain JSON", _AS_JSON),
    ollama("the model answers with JSON in a fence", _FENCED),
    ollama(
        "a model without tools",
        _refused("registry.ollama.ai/library/gemma3:latest does not support tools", has("tools")),
        end=fails("does not support tools"),
    ),
    *on_all(
        "without a forced tool the model answers in prose: the job ends with a reason",
        says(lambda reply: Reply("I would run it."), _STRUCTURED),
        end=succeeds_or_fails("critic"),
        plan="default",
    ),
    *[
        openai(f"tool_choice is named by {field_path}", answers(forced, 400, json.dumps(body)))
        for field_path, body in _LOCATED.items()
    ],
    openai(
        "a grammar for the forced tool is not available",
        refuses(forced, 400, "Failed to initialize the grammar backend"),
    ),
]
