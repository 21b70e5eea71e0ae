"""A model that does its work in every role, over a provider's protocol."""

from __future__ import annotations

from lab.provider import Reply, Request, ToolCall


def works(request: Request, code: str = "print(6 * 7)", answer: str = "It prints 42.") -> Reply:
    """The scripted reply to a request of a job with four calls: a plan, a run, an answer, a
    verdict.
    """
    if request.forced_tool == "Plan":
        return Reply(tool_calls=(ToolCall("Plan", {"steps": ["Write.", "Run.", "Look."]}),))
    if request.forced_tool == "Verdict":
        return Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "runs": ["r1"]}),))
    if request.messages[-1].speaker == "tool":
        return Reply(answer)
    return Reply(tool_calls=(ToolCall("python", {"code": code}),))
