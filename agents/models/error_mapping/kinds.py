"""The kind of an error: from the provider's message, then from its status. Pure.

Providers and gateways use one status for several causes: 400 is a request that is not accepted, and
an empty account (Anthropic), a wrong key (Gemini), a model that was shut down (Groq), a region that
is not served (Gemini). The first rule of the table `RULES` with words in the message decides. The
status decides only if no rule fits.

See ADR 77.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from agents.errors import ErrorKind
from agents.models.error_mapping.error_body import ErrorBody

_READ_CHARACTERS = 2_000
"""The end of a longer message may be a part of the request."""

# A gateway may answer 500 to every error, and an error within a stream has no status of its own:
# then a type or the name of LiteLLM's error is used, without underscores.
# https://docs.anthropic.com/en/api/errors, https://docs.litellm.ai/docs/exception_mapping
_STATUS_OF: Final[Mapping[str, int]] = {
    "invalidrequesterror": 400,
    "badrequesterror": 400,
    "unsupportedparamserror": 400,
    "authenticationerror": 401,
    "billingerror": 402,
    "budgetexceedederror": 402,
    "permissionerror": 403,
    "permissiondeniederror": 403,
    "notfounderror": 404,
    "requesttoolarge": 413,
    "ratelimiterror": 429,
    "ratelimitexceeded": 429,
    "overloadederror": 529,
}
_UNSURE: Final = frozenset({200, 500})


_MENTIONS_MODEL = re.compile(r"model|deployment", re.IGNORECASE)
_OF_STATUS: Final[Mapping[int, ErrorKind]] = {
    401: ErrorKind.KEY,
    402: ErrorKind.CREDIT,
    403: ErrorKind.ACCESS,
    404: ErrorKind.ADDRESS,
    405: ErrorKind.ADDRESS,
    407: ErrorKind.ADDRESS,
    408: ErrorKind.OVERLOADED,
    409: ErrorKind.OVERLOADED,
    410: ErrorKind.ADDRESS,
    413: ErrorKind.TOO_LARGE,
    424: ErrorKind.OVERLOADED,  # TGI and Bedrock: the model behind the server failed
    425: ErrorKind.OVERLOADED,
    429: ErrorKind.RATE,
    # Groq's own: no capacity in the flex tier. https://console.groq.com/docs/errors
    498: ErrorKind.OVERLOADED,
    499: ErrorKind.OVERLOADED,  # Gemini: CANCELLED
}


def kind_of(status: int, body: ErrorBody) -> ErrorKind:
    """The kind of an error with this status, as `status_of` returns it, and this body."""
    text = f"{' '.join(body.signs)} {body.sentence}"[:_READ_CHARACTERS]
    for rule in RULES:
        if status in (rule.statuses or {status}) and rule.words.search(text):
            return rule.kind
    if status in (404, 405, 410) and _MENTIONS_MODEL.search(text):
        return ErrorKind.MODEL
    if 300 <= status < 400:
        return ErrorKind.ADDRESS
    unknown = ErrorKind.REQUEST if 400 <= status < 500 else ErrorKind.OVERLOADED
    return _OF_STATUS.get(status, unknown)


def status_of(status: int, body: ErrorBody) -> int:
    """The status that the error means, which its code, its type or the name in its message says if
    the HTTP status is 200 or 500: `{"code": "401"}`, `rate_limit_error`."""
    if status not in _UNSURE:
        return status
    if body.status not in (None, 500):
        return body.status
    names = (name.replace("_", "").lower() for name in body.signs)
    return next((_STATUS_OF[name] for name in names if name in _STATUS_OF), body.status or status)


class Rule(NamedTuple):
    """Errors with these `words` are of this `kind`, if their status is one of `statuses`. Empty
    `statuses` match every status."""

    kind: ErrorKind
    words: re.Pattern[str]
    statuses: frozenset[int] = frozenset()


_OF_A_LENGTH: Final = frozenset(range(200, 600)) - {401, 402, 403, 429}
_OF_A_QUOTA: Final = frozenset({403, 429})
_OF_A_FAULT: Final = frozenset({400, 403, 404, 422})
_OF_AN_ADDRESS: Final = frozenset({200, 400, 403, 404, 405, 500})

RULES: Final[Sequence[Rule]] = (
    # Azure, DeepSeek (content exists risk), Qwen (data_inspection_failed), OpenRouter, Zhipu
    Rule(
        ErrorKind.POLICY,
        re.compile(
            r"content[_ ](?:management )?polic|content[_ ]filter|ContentPolicyViolation"
            r"|ResponsibleAIPolicy|data_inspection_failed|inappropriate content"
            r"|content exists risk|requires moderation|\bflagged\b|sensitive_words"
            r"|violat\w{1,8} [^.]{0,60}\b(?:polic|guideline)|prohibited content"
            r"|blocked by [^.]{0,40}(?:safety|guardrail|moderation)"
            r"|guardrail[^.]{0,60} failed|敏感内容",
            re.IGNORECASE,
        ),
    ),
    # The limit on output is too high: the request itself is short enough.
    Rule(
        ErrorKind.REQUEST,
        re.compile(
            r"(?<!\+ )(?<!\+ `)\bmax_(?:completion_|output_|new_)?tokens\W{1,3}"
            r"(?:or \W?max_completion_tokens\W{1,3})?"
            r"(?:is too|must be|should be|exceeds|cannot|\d{1,9} >)"
            r"|maximum allowed number of output tokens"
            r"|at most \d{1,9} (?:completion|output) tokens",
            re.IGNORECASE,
        ),
        _OF_A_LENGTH,
    ),
    # OpenAI has not stored a part of an earlier reply, which is named by its id.
    Rule(
        ErrorKind.REQUEST,
        re.compile(r"\bitem with id .{0,80} not found", re.IGNORECASE),
        frozenset({404}),
    ),
    # OpenAI, Anthropic (prompt is too long), Gemini (input token count), llama.cpp (available
    # context), TGI (`inputs`), Qwen (range of input length), Moonshot (model token limit), Zhipu
    Rule(
        ErrorKind.TOO_LONG,
        re.compile(
            r"context[ _-]?(?:length|size|window|limit)|available context|ContextWindowExceeded"
            r"|(?:prompt|input|message|request)s? (?:is |are |was )?too long|too many input tokens"
            r"|maximum prompt length|input token count"
            r"|prompt token count (?:of )?\d{1,9} (?:exceeds|cannot exceed)"
            r"|max_prompt_tokens|`inputs` (?:tokens|must)|inputs must have less than"
            r"|range of input length|longer than the (?:maximum )?(?:model|context)"
            r"|model token limit|total tokens limit|too many tokens(?!,? please wait| per)"
            r"|(?:input|prompt)(?: length| tokens?)? (?:\(?\d{1,9}\)? )?(?:exceeds|cannot exceed)"
            r"|reduce the length of the (?:messages|input|prompt)|string_above_max_length"
            r"|exceeds? (?:the )?(?:maximum|max) (?:allowed )?(?:number of )?(?:input )?tokens"
            r"|maximum (?:allowed )?(?:input|sequence) length|max_model_len|超长",
            re.IGNORECASE,
        ),
        _OF_A_LENGTH,
    ),
    # Groq, proxies, and Anthropic with its type request_too_large
    Rule(
        ErrorKind.TOO_LARGE,
        re.compile(
            r"request too large|request_too_large|payload (?:is )?too large|tokens must be reduced",
            re.IGNORECASE,
        ),
    ),
    # A free account has a quota of 0 for this model: a later try changes nothing.
    Rule(
        ErrorKind.ACCESS,
        re.compile(r"quota exceeded[^\n]{0,200}\blimit: 0\b", re.IGNORECASE),
        _OF_A_QUOTA,
    ),
    # Anthropic, OpenAI, DeepSeek, Moonshot, Zhipu, xAI, Qwen, LiteLLM, Portkey, OpenRouter,
    # Mistral, New API
    Rule(
        ErrorKind.CREDIT,
        re.compile(
            r"credit balance|insufficient[_ ](?:(?:user[_ ])?quota|balance|credits?|funds)"
            r"|insufficient account balance"
            r"|requires more credits|out of credits?\b|(?:no|any) credits|credit limit"
            r"|used all [^.]{0,30}credits|negative balance|balance is too low|payment required"
            r"|arrearage|overdue payment|recharge|API usage limits"
            r"|billing[_ ](?:hard[_ ]limit|not[_ ]active|account|is disabled|disabled)"
            r"|billing to be enabled|spend(?:ing)?[_ ](?:limit|cap)"
            r"|budget (?:has been |was )?exceeded|budget_exceeded|exceeded_current_quota"
            r"|ExceededBudget|over budget|usage limits? reached"
            r"|exhausted its usage|key limit exceeded"
            r"|余额不足|欠费|充值|额度已用尽"
            # Gemini begins a limit per minute with the same words.
            r"|exceeded your current quota[^*]{0,160}platform\.openai\.com",
            re.IGNORECASE,
        ),
    ),
    # Gemini, OpenAI, Anthropic, OpenRouter, Zhipu
    Rule(
        ErrorKind.ACCOUNT,
        re.compile(
            r"location is not supported|country, region,? or territory|unsupported_country"
            r"|not (?:available|supported) in your (?:country|region|location)"
            r"|organi[sz]ation has been (?:disabled|restricted|suspended)|organization_restricted"
            r"|account[^.]{0,80} (?:not active|inactive|deactivated|suspended|disabled|locked)"
            r"|account_deactivated|good standing|SERVICE_DISABLED|it is disabled\. Enable it"
            r"|user has been (?:blocked|banned|disabled)|data policy|IP address is not"
            r"|mismatched_organization|账[户号][^。]{0,9}(?:锁定|禁用|冻结|非活动)",
            re.IGNORECASE,
        ),
    ),
    # Gemini, LiteLLM, Bedrock, Zhipu
    Rule(
        ErrorKind.KEY,
        re.compile(
            r"api[ _-]?key (?:is )?(?:not valid|invalid|expired|required|missing)|api_key_invalid"
            r"|(?:invalid|incorrect|malformed|missing|wrong|no|expired)[ _](?:x-)?api[ _-]?key"
            r"|key was reported as leaked|unregistered callers|authentication fails"
            r"|invalid proxy server token|invalid subscription key|invalid_authentication"
            r"|(?:security|bearer) token (?:included )?[^.]{0,30}(?:invalid|expired)"
            r"|make sure your api key is|身份验证失败|token ?非法|无效的令牌",
            re.IGNORECASE,
        ),
    ),
    # Ollama, OpenRouter, vLLM, llama.cpp
    Rule(
        ErrorKind.TOOLS,
        re.compile(
            r"(?:does not|doesn't|not) support (?:tools|tool[ _]?(?:use|calls|calling)|function)"
            r"|(?:tool|function)[ _](?:use|calling)\W{0,2} is not (?:supported|enabled)"
            r"|support tool use|(?:requires?|start it with) [`'\"]?--jinja"
            r"|--enable-auto-tool-choice",
            re.IGNORECASE,
        ),
    ),
    # LiteLLM, Groq, OpenAI (must be verified), Bedrock
    Rule(
        ErrorKind.ACCESS,
        re.compile(
            r"key not allowed to access|key_model_access_denied|must be verified to use"
            r"|terms acceptance|model_terms_required|model_permission|blocked at the (?:proj|org)"
            r"|don't have access to the model|not authorized to (?:access|use) [^.]{0,40}model",
            re.IGNORECASE,
        ),
    ),
    # Groq, OpenAI, OpenRouter, DeepSeek, Mistral, LiteLLM, Ollama, Gemini, Azure, Bedrock, Zhipu
    Rule(
        ErrorKind.MODEL,
        re.compile(
            r"model[_ ]?not[_ ]?(?:found|exist)|model[_ ]decommissioned|no such model"
            r"|(?:invalid|unknown)[_ ]model(?!\w| (?:input|output|request|context))"
            r"|not a valid model|model identifier is invalid|DeploymentNotFound"
            r"|deployment [^.]{0,60}does not exist|no endpoints found|not a chat model"
            r"|inference profile|LLM Provider NOT provided|non-serverless model|模型不存在"
            r"|not work with the specified model|marked by provider as legacy"
            r"|\bmodels?\b.{0,120}?(?:does not|doesn't) exist"
            r"|\bmodels?\b[^,;]{0,120}? (?:is |was )?not found"
            r"|\bmodels?\b.{0,120}? (?:is|has been|was) (?:now )?(?:decommissioned|deprecated)"
            r"|\bmodels?\b.{0,120}? (?:has been|was) (?:retired|removed|shut ?down|discontinued)"
            r"|\bmodels?\b.{0,120}? no longer (?:available|supported)"
            r"|\bmodels?\b.{0,120}? reached (?:the|its) end of (?:its )?life"
            r"|not supported for generateContent|not supported by any provider|param=model\b",
            re.IGNORECASE,
        ),
    ),
    # Gemini, Groq, OpenRouter, APIM, Cloudflare
    Rule(
        ErrorKind.QUOTA,
        re.compile(
            r"per[ _-]?day|daily (?:[a-z]+ ){0,2}(?:limit|quota|requests?|allocation)"
            r"|call volume quota|\d ?/ ?day\b|\((?:RPD|TPD)\)",
            re.IGNORECASE,
        ),
        _OF_A_QUOTA,
    ),
    # Gateways may write 400 or 403 for an error that a later try would not have.
    Rule(
        ErrorKind.RATE,
        re.compile(
            r"too many requests|rate[ _-]?limit[ _-](?:\w+ )?(?:reached|exceeded)", re.IGNORECASE
        ),
        _OF_A_FAULT,
    ),
    Rule(
        ErrorKind.OVERLOADED,
        re.compile(
            r"overloaded|temporarily unavailable|try again later|out of memory|request timeout",
            re.IGNORECASE,
        ),
        _OF_A_FAULT,
    ),
    # OpenAI, Express (cannot post), Cloudflare
    Rule(
        ErrorKind.ADDRESS,
        re.compile(
            r"unexpected endpoint|invalid url|(?:unknown|unrecognized) request url|cannot post /"
            # Cloudflare's firewall in plain text
            r"|HTTP request (?:was sent )?to an? HTTPS|\berror code: 1\d\d\d\b",
            re.IGNORECASE,
        ),
        _OF_AN_ADDRESS,
    ),
)
"""In this order: the first rule that fits decides. A comment names the providers with these words;
`tests/support/errors` has their messages."""
