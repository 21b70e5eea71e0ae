"""What is wrong with a value, in words."""

from __future__ import annotations

from pydantic import ValidationError

_SHOWN_FAULTS = 5


def in_words(error: ValidationError) -> str:
    """`steps.0.title: Field required; ...`: for a model or an operator to put right."""
    faults = error.errors(include_url=False, include_context=False, include_input=False)
    shown = [
        f"{'.'.join(map(str, fault['loc'])) or 'the whole'}: {fault['msg']}"
        for fault in faults[:_SHOWN_FAULTS]
    ]
    more = len(faults) - len(shown)
    return "; ".join([*shown, *([f"and {more} more"] if more else [])])
