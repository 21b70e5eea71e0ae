"""Offer: one job before all others, which tells whether a service takes what the drill asks for."""

from __future__ import annotations

import contextlib

from cli.errors import CliError, Refused
from cli.service import Service
from drills.chaos import specs
from drills.chaos.schedule import JobPlan

OFFERED = JobPlan(0, 0.0, "", review=True)


def taken(url: str, key: str) -> None:
    """Submit it, and cancel it. Raises CliError where the service does not want it: one that takes
    two approvals for a review would have each job wait for a person whom the drill has not.
    """
    with Service(url, key) as service:
        try:
            job = service.submit(specs.named(OFFERED, ""))
        except Refused as refused:
            said = refused.detail or refused.title
            raise CliError("this service does not take the drill's jobs", said) from refused
        with contextlib.suppress(Refused):  # it may be over
            service.cancel(job["id"])
