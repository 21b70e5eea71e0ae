"""Messages for a channel of Slack or Teams, in the JSON of their incoming webhooks. Pure.

Untrusted text (tasks, names, remarks, reasons) must not mention people, link, or imitate the
product's own words. So it is only in elements without markup: `plain_text` of Slack, with the
characters escaped that Slack parses in every text, and `TextRun` of Adaptive Cards. `TextBlock` and
facts of Adaptive Cards are Markdown, and have constant text only. A mention on Teams needs
`msteams.entities` in the card, which no card has.

See https://docs.slack.dev/messaging/formatting-message-text and
https://learn.microsoft.com/microsoftteams/platform/task-modules-and-cards/cards/cards-format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from jobs.model.visibility import drop_emoji_selectors, is_invisible
from jobs.transitions.change import Delivery

TITLES: Mapping[str, str] = {
    "review.opened": "A job waits for a decision",
    "review.reminded": "A job still waits for a decision",
    "review.escalated": "A job has waited too long for a decision",
    "review.expired": "A review has expired without a decision",
    "review.approved": "A review has an approval, and needs another one",
    "review.withdrawn": "An approval was withdrawn",
    "review.decided": "A review was decided",
    "job.finished": "A job has ended",
    "audit.head": "The newest entry of the audit log was signed",
}
"""The title of a message, by its type."""
VALUE_LENGTH = 200
"""The characters of a value. Slack refuses a text of more than 3,000 escaped characters, and Teams
a message of more than 28 KB: a long task or remark must not suppress a message."""
OPEN = "Open the job"
_NESTED_BRACE = re.compile(r"\{(?=\{)")
"""A brace before another brace. Clients of Teams format `{{DATE(...)}}` in every text."""
_SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


@dataclass(frozen=True, slots=True)
class Notice:
    """The content of a chat message."""

    title: str
    """Constant text."""
    facts: tuple[tuple[str, str], ...]
    """Name and value. A value is untrusted text, in one line, without invisible characters."""
    link: str | None
    """The address of the job's page."""


def notice_of(delivery: Delivery, link: str | None) -> Notice:
    """The notice for a delivery. A delivery of an older version has fewer facts."""
    facts = ((name, _in_one_line(value)) for name, value in _facts(delivery))
    title = TITLES.get(delivery.type, "A message of Fettle")
    return Notice(title, tuple((name, value) for name, value in facts if value), link)


def _facts(delivery: Delivery) -> Iterator[tuple[str, object]]:
    data = delivery.data
    yield "Task", data.get("task")
    yield "Job", delivery.job_id
    yield "Submitted by", _name(data.get("submitted_by_person"), data.get("submitted_by"))
    if verdict := data.get("verdict"):
        yield "Verdict", f"{verdict['level']}: {verdict['reason']}"
    if delivery.type == "job.finished":
        yield "Outcome", data.get("event")
        yield "Approved by", data.get("approved_by")
        yield "Reason", data.get("reason")
    yield "Decision", data.get("action")
    yield "By", _name(data.get("person"), data.get("by"))
    yield "Remark", data.get("feedback")
    yield "Override", "the approval overrode the evidence" if data.get("override") else None
    yield "Labels", ", ".join(data.get("labels", ()))
    if delivery.type == "audit.head":
        yield "Tenant", delivery.tenant
        yield "Entry", f"{data.get('seq')}, {data.get('hash')}"


def _name(person: str | None, key: str | None) -> str | None:
    return f"{person} (key {key})" if person and key and person != key else person or key


def _in_one_line(value: object) -> str:
    """The text in one line, without control characters, invisible characters and direction marks,
    which could hide or reorder it; empty for None."""
    text = drop_emoji_selectors("" if value is None else str(value))
    line = " ".join("".join(" " if is_invisible(c) else c for c in text).split())
    return line if len(line) <= VALUE_LENGTH else f"{line[: VALUE_LENGTH - 1]}…"


def slack(notice: Notice) -> dict[str, Any]:
    """The message for an incoming webhook of Slack. The notification (`text`) shows the title."""
    lines = (f"{name}: {value}" for name, value in notice.facts)
    blocks = [
        {"type": "header", "text": _slack_text(notice.title)},
        *({"type": "section", "text": _slack_text(line)} for line in lines),
    ]
    if notice.link:  # a button would need an app that handles interactions
        text = f"<{notice.link.translate(_SLACK_ESCAPES)}|{OPEN}>"
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": text}})
    return {"text": notice.title, "unfurl_links": False, "blocks": blocks}


def _slack_text(text: str) -> dict[str, Any]:
    return {"type": "plain_text", "text": text.translate(_SLACK_ESCAPES), "emoji": False}


def teams(notice: Notice) -> dict[str, Any]:
    """The message for a workflow or an incoming webhook of Teams: an Adaptive Card."""
    card: dict[str, Any] = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.2",
        "body": [
            {"type": "TextBlock", "text": notice.title, "weight": "Bolder", "wrap": True},
            *(_teams_line(name, value) for name, value in notice.facts),
        ],
    }
    if notice.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": OPEN, "url": notice.link}]
    content_type = "application/vnd.microsoft.card.adaptive"
    attachment = {"contentType": content_type, "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _teams_line(name: str, value: str) -> dict[str, Any]:
    plain = _NESTED_BRACE.sub("{ ", value)
    return {
        "type": "RichTextBlock",
        "inlines": [
            {"type": "TextRun", "text": f"{name}: ", "weight": "Bolder"},
            {"type": "TextRun", "text": plain},
        ],
    }


CHATS: Mapping[str, Callable[[Notice], dict[str, Any]]] = {"slack": slack, "teams": teams}
"""The function that renders a notice, by `FETTLE_WEBHOOK_FORMAT`."""
