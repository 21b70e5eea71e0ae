"""Critiques of all releases in one form. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def in_one_form(critique: Mapping[str, Any]) -> dict[str, Any]:
    """The data of an event `critiqued` with `runs` and `unmet`. Critiques of older releases have
    `run` and `failed`, too."""
    fields = dict(critique)
    run = fields.pop("run", None)
    failed = fields.pop("failed", None) or ()
    runs = [*([] if run is None else [str(run)]), *(fields.get("runs") or ())]
    fields["runs"] = list(dict.fromkeys(runs))
    fields["unmet"] = fields.get("unmet") or [
        {"criterion": text, "location": "", "reason": ""} for text in failed
    ]
    return fields


def unmet_text(unmet: Mapping[str, Any]) -> str:
    """An unmet criterion as one text: the criterion, its location and the reason."""
    location = f" ({unmet['location']})" if unmet["location"] else ""
    reason = f": {unmet['reason']}" if unmet["reason"] else ""
    return f"{unmet['criterion']}{location}{reason}"
