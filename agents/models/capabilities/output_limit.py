"""OutputLimit: how many tokens a model may write in one reply. Pure."""

from __future__ import annotations

from dataclasses import dataclass

MOST_OUTPUT = 32_000
"""The most tokens of a reply, if the operator sets no limit: enough for a long file in one call."""
SMALL_OUTPUT = 8_192
"""Tokens of a reply of a model whose limits are not known, and of a reply in full length that a
budget cannot pay for."""


@dataclass(frozen=True, slots=True)
class OutputLimit:
    """In tokens: the limit that the operator has `configured`, and the model's `own` limit, as far
    as its library knows it. A model that thinks first gets `thinking` more for that."""

    configured: int | None = None
    own: int | None = None
    thinking: int = 0

    @property
    def most(self) -> int:
        """The limit in the largest context."""
        most = (self.configured or MOST_OUTPUT) + self.thinking
        return min(most, self.own or most)

    def within(self, context: int | None) -> int:
        """The limit in a context of so many tokens; None: it is not known.

        A reply takes at most half of the context. If the operator sets no limit, it takes at most a
        quarter, but a small reply is always possible.
        """
        if context is None:
            usual = MOST_OUTPUT if self.own else SMALL_OUTPUT
        else:
            usual = max(SMALL_OUTPUT, context // 4)
        most = self.most if self.configured else min(self.most, usual + self.thinking)
        return most if context is None else min(most, context // 2)
