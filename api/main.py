"""The HTTP front as a process. Exit codes: 2 if settings are unfit, 1 if only Redis is. Either is
listed on stderr."""

from __future__ import annotations

import asyncio
import sys

from api.app import create_app
from api.http.server import Server
from api.services import open_services
from api.startup import Unfit, check_fitness
from settings.api import ApiSettings
from settings.base import Environment
from settings.starting.start import load_settings


def main() -> int:
    """Serve until a signal."""
    settings = load_settings(ApiSettings)
    if settings.env is Environment.PRODUCTION:
        try:
            asyncio.run(_check(settings))
        except Unfit as unfit:
            sys.stderr.write(f"{unfit}\n")
            return unfit.exit_code
    Server(create_app(settings), settings).run()
    return 0


async def _check(settings: ApiSettings) -> None:
    """Check before the server runs, so that a refusal is plain text, not a traceback."""
    async with open_services(settings) as services:
        await check_fitness(services)
