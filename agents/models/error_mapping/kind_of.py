"""The kind of an error: from the provider's message, then from its status. Pure.

Providers and gateways use one status for several causes: 400 is a request that is not accepted, and
an empty account (Anthropic), a wrong key (Gemini), a model that was shut down (Groq), a region that
is not served (Gemini). The first rule with words in the message decides. The status decides only if
no rule fits.

Why: docs/decisions/0077-errors-by-the-providers-message.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from agents.models.error_mapping.error_body import ErrorBody
from agents.models.errors import ErrorKind

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


class _Rule(NamedTuple):
    kind: ErrorKind
    words: re.Pattern[str]
    statuses: frozenset[int] | None = None
    """The rule is for these only; None: for all."""


def _rule(kind: ErrorKind, *words: str, statuses: Sequence[int] = ()) -> _Rule:
    return _Rule(kind, re.compile("|".join(words), re.IGNORECASE), frozenset(statuses) or None)


_ALL = range(200, 600)
_LENGTH = [status for status in _ALL if status not in (401, 402, 403, 429)]
RULES: Final[Sequence[_Rule]] = (
    _rule(
        ErrorKind.POLICY,
        r"content[_ ](?:management )?polic|content[_ ]filter|ContentPolicyViolation",
        r"ResponsibleAIPolicy|data_inspection_failed|inappropriate content|content exists risk",
        r"requires moderation|\bflagged\b|violat\w+ [^.]{0,60}\b(?:polic|guideline)",
        r"sensitive_words|prohibited content|blocked by [^.]{0,40}(?:safety|guardrail|moderation)",
    ),
    # The limit on output is too high: the request itself is short enough.
    _rule(
        ErrorKind.REQUEST,
        r"(?<!\+ )(?<!\+ `)\bmax_(?:completion_|output_|new_)?tokens\W{1,3}"
        r"(?:or \W?max_completion_tokens\W{1,3})?"
        r"(?:is too|must be|should be|exceeds|cannot|\d+ >)",
        r"(?:maximum allowed number of|at most \d+ (?:completion|output)) ?(?:output )?tokens",
        statuses=_LENGTH,
    ),
    _rule(
        ErrorKind.TOO_LONG,
        r"context[ _-]?(?:length|size|window|limit)|available context|ContextWindowExceeded",
        r"(?:prompt|input|message|request)s? (?:is |are |was )?too long|maximum prompt length",
        r"input token count|prompt token count of \d+ exceeds|max_prompt_tokens",
        r"`inputs` (?:tokens|must)|inputs must have less than|range of input length",
        r"longer than the (?:maximum )?(?:model|context)|model token limit",
        r"(?:input|prompt)(?: length| tokens?)? (?:\(?\d+\)? )?(?:exceeds|cannot exceed)",
        r"input tokens \d+ cannot exceed|too many (?:input )?tokens(?!,? please wait| per)",
        r"reduce the length of the (?:messages|input|prompt)|string_above_max_length",
        r"exceeds? (?:the )?(?:maximum|max) (?:allowed )?(?:number of )?(?:input )?tokens",
        r"maximum (?:allowed )?(?:input|sequence) length|max_model_len",
        statuses=_LENGTH,
    ),
    _rule(
        ErrorKind.TOO_LARGE,
        r"request too large|request_too_large|payload (?:is )?too large|tokens must be reduced",
    ),
    # A free account has a quota of 0 for this model: a later try changes nothing.
    _rule(ErrorKind.ACCESS, r"quota exceeded[^\n]{0,200}\blimit: 0\b", statuses=[429]),
    _rule(
        ErrorKind.CREDIT,
        r"credit balance|insufficient[_ ](?:quota|balance|credits?|funds|account balance)",
        r"requires more credits|out of credits?\b|(?:no|any) credits|used all [^.]{0,30}credits",
        r"credit limit|negative balance|balance is too low|payment required|arrearage",
        r"billing[_ ](?:hard[_ ]limit|not[_ ]active|is disabled|disabled|to be enabled)",
        r"billing account|spend(?:ing)?[_ ](?:limit|cap)|API usage limits|recharge|overdue payment",
        r"budget (?:has been |was )?exceeded|budget_exceeded|exceeded_current_quota",
        r"exceeded your current quota[\s\S]*platform\.openai\.com",
    ),
    _rule(
        ErrorKind.ACCOUNT,
        r"location is not supported|country, region,? or territory|unsupported_country",
        r"not (?:available|supported) in your (?:country|region|location)",
        r"organi[sz]ation has been (?:disabled|restricted|suspended)|organization_restricted",
        r"account[^.]{0,80} (?:not active|inactive|deactivated|suspended|disabled|locked|banned)",
        r"account_deactivated|good standing|SERVICE_DISABLED|it is disabled\. Enable it",
        r"user has been (?:blocked|banned|disabled)|data policy|IP address is not",
    ),
    _rule(
        ErrorKind.KEY,
        r"api[ _-]?key (?:is )?(?:not valid|invalid|expired|required|missing)|api_key_invalid",
        r"(?:invalid|incorrect|malformed|missing|wrong|no|expired)[ _](?:x-)?api[ _-]?key",
        r"key was reported as leaked|unregistered callers|authentication fails",
        r"invalid proxy server token|invalid subscription key|invalid_authentication",
        r"security token (?:included )?[^.]{0,30}(?:invalid|expired)",
    ),
    _rule(
        ErrorKind.TOOLS,
        r"(?:does not|doesn't|not) support (?:tools|tool[ _]?(?:use|calls|calling)|function)",
        r"(?:tool|function)[ _](?:use|calling)\W{0,2} is not (?:supported|enabled)",
        r"support tool use|(?:requires?|start it with) [`'\"]?--jinja|--enable-auto-tool-choice",
    ),
    _rule(
        ErrorKind.ACCESS,
        r"key not allowed to access|key_model_access_denied|must be verified to use",
        r"terms acceptance|model_terms_required|model_permission|blocked at the (?:proj|org)",
        r"don't have access to the model|not authorized to (?:access|use) [^.]{0,40}model",
    ),
    _rule(
        ErrorKind.MODEL,
        r"model[_ ]?not[_ ]?(?:found|exist)|model[_ ]decommissioned|no such model",
        r"DeploymentNotFound|(?:invalid|unknown)[_ ]model(?!\w| (?:input|output|request|context))",
        r"not a valid model|model identifier is invalid|deployment [^.]{0,60}does not exist",
        r"\bmodels?\b.{0,120}?(?:does not|doesn't) exist",
        r"\bmodels?\b[^,;]{0,120}? (?:is |was )?not found|no endpoints found",
        r"\bmodels?\b.{0,120}? (?:is|has been|was) (?:now )?"
        r"(?:decommissioned|deprecated|retired|removed|shut ?down|discontinued)",
        r"\bmodels?\b.{0,120}? no longer (?:available|supported)|not a chat model",
        r"not supported for generateContent|not supported by any provider|param=model\b",
    ),
    _rule(
        ErrorKind.QUOTA,
        r"per[ _-]?day|daily (?:limit|quota|requests?)|\d ?/ ?day\b|\((?:RPD|TPD)\)",
        statuses=[403, 429],
    ),
    _rule(
        ErrorKind.ADDRESS,
        r"unexpected endpoint|invalid url|(?:unknown|unrecognized) request url|cannot post /",
        r"HTTP request (?:was sent )?to an? HTTPS",
        statuses=[200, 400, 404, 405, 500],
    ),
)
"""The first that fits decides."""

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
    425: ErrorKind.OVERLOADED,
    429: ErrorKind.RATE,
    # Groq's own: no capacity in the flex tier. https://console.groq.com/docs/errors
    498: ErrorKind.OVERLOADED,
}


def kind_of(status: int, body: ErrorBody) -> ErrorKind:
    """The kind of an error with this status, as `status_of` returns it, and this body."""
    text = f"{' '.join(body.signs)} {body.sentence}"[:_READ_CHARACTERS]
    for rule in RULES:
        if (rule.statuses is None or status in rule.statuses) and rule.words.search(text):
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
