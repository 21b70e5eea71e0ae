"""Errors with a status that does not fit their message, and errors in Chinese."""

from __future__ import annotations

from typing import Any

from support.errors.bodies import Body, litellm, openai

from agents.errors import ErrorKind as K


def _coded(code: str, message: str) -> Any:
    return {"error": {"code": code, "message": message}}


CONTRADICTIONS = [
    Body(
        "a gateway, too many requests",
        400,
        openai("Rate limit reached for requests. Please try again in 20s."),
        K.RATE,
        retry=20,
    ),
    Body("a gateway, a rate limit", 403, openai("Rate limit exceeded"), K.RATE, retry=-1),
    Body("a gateway, overload", 400, openai("The server is overloaded"), K.OVERLOADED, retry=-1),
    Body("TGI", 424, {"error": "Request failed during generation"}, K.OVERLOADED, retry=-1),
    Body("Gemini, cancelled", 499, openai("The operation was cancelled."), K.OVERLOADED, retry=-1),
    Body("LiteLLM, a user's budget", 401, litellm("ExceededBudget: User=x", "401"), K.CREDIT),
    Body("LiteLLM, no provider", 400, litellm("LLM Provider NOT provided.", "400"), K.MODEL),
    Body(
        "Portkey, a key's budget",
        412,
        {"message": "Portkey Error: The virtual key has exhausted its usage limits."},
        K.CREDIT,
    ),
    Body("OpenRouter", 403, openai("Key limit exceeded (monthly limit)."), K.CREDIT),
    Body("Mistral", 403, {"message": "Inactive subscription or usage limit reached"}, K.CREDIT),
    Body("Bedrock, a key", 403, {"message": "The bearer token included is invalid"}, K.KEY),
    Body(
        "OpenAI, another organization",
        400,
        openai("OpenAI-Organization header should match", "mismatched_organization"),
        K.ACCOUNT,
    ),
    Body(
        "APIM, a quota of calls",
        403,
        {"message": "Out of call volume quota."},
        K.QUOTA,
        retry=3_600,
    ),
    Body(
        "Cloudflare, free",
        429,
        {"errors": [{"message": "AiError: you have used up your daily free allocation"}]},
        K.QUOTA,
        retry=3_600,
    ),
    Body("Zhipu, balance", 429, _coded("1113", "余额不足或无可用资源包,请充值。"), K.CREDIT),
    Body("Zhipu, key", 400, _coded("1002", "Authorization Token非法"), K.KEY),
    Body("Zhipu, model", 400, _coded("1211", "模型不存在"), K.MODEL),
    Body("Zhipu, account", 400, _coded("1112", "您的账户已被锁定"), K.ACCOUNT),
    Body(
        "Zhipu, policy",
        400,
        _coded("1301", "系统检测到输入或生成内容可能包含不安全或敏感内容"),
        K.POLICY,
        stand_in=False,
    ),
    Body("New API", 403, _coded("insufficient_user_quota", "该令牌额度已用尽"), K.CREDIT),
]
