"""Sentences of providers about a request that is too long, and about a limit that is too high."""

from __future__ import annotations

from typing import Final

TOO_LONG: Final[dict[str, tuple[int, str]]] = {
    "Zhipu": (400, "Prompt 超长"),
    "Bedrock": (400, "Input is too long for requested model."),
    "xAI": (
        400,
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
    ),
    "TGI": (
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000",
    ),
    "TGI, old": (422, "`inputs` must have less than 1024 tokens. Given: 2048"),
    "TEI": (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 600"),
    "Copilot": (400, "prompt token count of 140000 exceeds the limit of 128000"),
    "vLLM": (
        400,
        "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    ),
    "vLLM, completion": (
        400,
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
    ),
    "LiteLLM": (400, "litellm.ContextWindowExceededError: OpenAIException - it does not fit"),
    "LiteLLM, 500": (500, "litellm.ContextWindowExceededError: OpenAIException - it does not fit"),
    "Mistral": (
        400,
        (
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 "
            "maximum context length"
        ),
    ),
    "Cohere": (
        400,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000",
    ),
    "Cerebras": (400, "Please reduce the length of the messages or completion."),
    "SGLang": (
        400,
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    ),
    "llama.cpp": (400, "the request exceeds the available context size, try increasing it"),
    "llama.cpp, 500": (500, "the request exceeds the available context size. try increasing it"),
    "LM Studio": (
        400,
        (
            "Trying to keep the first 5000 tokens when context the overflows. However, the model "
            "is loaded with context length of only 4096 tokens"
        ),
    ),
    "Ollama": (500, "the input length exceeds the context length"),
    "Fireworks": (400, "The prompt is too long: 9000, model maximum context length: 8192"),
    "DeepSeek": (400, "This model's maximum context length is 65536 tokens."),
    "Qwen": (
        400,
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 3]",
    ),
    "Moonshot": (400, "Invalid request: Your request exceeded model token limit: 8192"),
    "Anthropic": (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "Anthropic, with its reply": (
        400,
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ),
    "Gemini": (400, "The input token count (1100000) exceeds the maximum number of tokens allowed"),
    "watsonx": (400, "the number of input tokens 9000 cannot exceed the total tokens limit 8192"),
    "OpenAI, a text": (
        400,
        "Invalid 'messages[0].content': string too long. string_above_max_length",
    ),
}
NOT_TOO_LONG: Final[dict[str, tuple[int, str]]] = {
    "Groq": (
        400,
        (
            "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` "
            "is less than the `context_window` for this model"
        ),
    ),
    "OpenAI": (
        400,
        "max_tokens is too large: 32000. This model supports at most 16384 completion tokens",
    ),
    "Anthropic": (
        400,
        "max_tokens: 99999 > 8192, which is the maximum allowed number of output tokens for claude",
    ),
    "vLLM": (
        400,
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 8192. This model's maximum "
            "context length is 8192 tokens and your request has 24 input tokens"
        ),
    ),
}
