"""The names of a thread's keys, as in the package's docstring."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote

from jobs.redis import keys


def encode(text: str) -> str:
    """`text` in letters, digits, `_.-~` and `%`: safe between any separators we use."""
    return quote(text, safe="", errors="surrogatepass")


def decode(name: str) -> str:
    """What `encode` was given."""
    return unquote(name, errors="surrogatepass")


def member(namespace: str, checkpoint_id: str) -> str:
    """A checkpoint's name in its thread's index; sorts by namespace, then by age."""
    return f"{encode(namespace)}:{checkpoint_id}"


def value_name(channel: str, version: str | float) -> str:
    """The field under which a channel's value at a version is stored."""
    return f"{encode(channel)}@{encode(str(version))}"


def parse_value_name(name: str) -> str:
    """The channel that a value belongs to."""
    return decode(name.partition("@")[0])


@dataclass(frozen=True, slots=True)
class ThreadKeys:
    """The keys of one thread."""

    thread_id: str

    @property
    def index(self) -> str:
        """The first of them, which begins all others."""
        return f"{keys.CHECKPOINT}:{encode(self.thread_id)}"

    def values(self, namespace: str) -> str:
        """The values of a namespace's channels."""
        return f"{self.index}:{encode(namespace)}"

    def checkpoint(self, name: str) -> str:
        """The key of a checkpoint, by its index member."""
        return f"{self.index}:{name}"
