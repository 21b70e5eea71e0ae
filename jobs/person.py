"""Person: whoever stands behind a key. One vote each, and none on one's own job."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Person:
    """The name of a key and its id; '' where an older record does not tell."""

    name: str
    key_id: str = ""

    @property
    def marks(self) -> frozenset[str]:
        """What tells that two keys are one person's: a key is known by its id, and a new one by the
        name that it has taken over."""
        key = {f"key:{self.key_id}"} if self.key_id else set()
        return frozenset({f"name:{self.name.lower()}", *key})

    def is_also(self, other: Person) -> bool:
        """Whether both are one person, as far as keys tell."""
        return bool(self.marks & other.marks)
