"""Patterns of fields, and the message of each."""

from __future__ import annotations

from jobs.model import credentials

SOME_TEXT = r"\S"
CONVERSATION = r"^[A-Za-z0-9._:-]{1,100}$"
MODEL = r"^(auto|[a-z][a-z0-9_]*:[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199})$"
ONE_MODEL = r"^[a-z][a-z0-9_]*:[A-Za-z0-9][A-Za-z0-9._/@:-]{0,199}$"
LABEL = r"^[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]{0,99}$"
IDEMPOTENCY_KEY = r"^[\x21-\x7e]+$"
DIGEST = r"^[0-9a-f]{64}$"
LAST_EVENT_ID = r"^\d{0,15}$"
KEY_NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$"
DOLLARS = r"^(0|[1-9]\d{0,5})(\.\d{1,9})?$"
REPO_URL = r"^((https?|ssh)://|[A-Za-z0-9_][A-Za-z0-9_.-]*@[A-Za-z0-9][A-Za-z0-9.-]*:)[\x21-\x7e]+$"
REF = r"^[^\x00-\x20\x7f~^:?*\[\\./-][^\x00-\x20\x7f~^:?*\[\\]{0,199}$"
IMAGE = r"^[a-z0-9][a-z0-9._/:@-]{0,199}$"
SETUP = r"^[^\x00]*$"
TENANT = credentials.TENANT


PATTERNS = {
    SOME_TEXT: "it has no text",
    CONVERSATION: "an id has 1 to 100 letters, digits and . _ : -",
    MODEL: "a model is written provider:model, as in groq:llama-3.3-70b-versatile; or auto",
    ONE_MODEL: "a model of a role is written provider:model, as in groq:llama-3.3-70b-versatile",
    LABEL: "a label has 1 to 100 characters on one line, without a leading space",
    IDEMPOTENCY_KEY: "a key has only visible ASCII characters, no spaces",
    DIGEST: "a digest has 64 hexadecimal digits",
    LAST_EVENT_ID: "it is the number of an event",
    KEY_NAME: "a name has 1 to 64 letters, digits, spaces and . _ @ -; first a letter or digit",
    DOLLARS: "an amount in US dollars is written like 0.25, up to 999999, at most nine decimals",
    REPO_URL: "a repository's URL begins with https:// or ssh://, or is written git@HOST:PATH; one "
    "that is reached otherwise can be sent as a git bundle: fettle run --repo DIR",
    REF: "a branch, a tag or a commit, as git names them: 1 to 200 characters without spaces, such "
    "as main or v1.2",
    IMAGE: "an image is written as the engine names it, such as registry.example.org/java:21",
    SETUP: "a command has no null character",
    TENANT: "a tenant has 1 to 63 of a-z, 0-9, _ and -; first a letter or digit",
}
