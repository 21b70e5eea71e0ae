"""`python -m api`: the HTTP front as a process. Exit code 2: unfit settings, listed on stderr."""

from __future__ import annotations

import asyncio
import sys

from pydantic import ValidationError

from api.app import create_app
from api.http.server import Server
from api.services import opened
from api.startup import Unfit, check
from settings import logs
from settings.api import ApiSettings
from settings.base import Environment
from settings.provenance import complaints


def main() -> int:
    """Serve until a signal."""
    try:
        settings = ApiSettings()
    except ValidationError as error:
        wrong = "".join(f"  - {text}\n" for text in complaints(ApiSettings, error))
        sys.stderr.write(f"fettle: a setting is not valid:\n{wrong}")
        return 2
    logs.configure(settings.log_format, settings.log_level)
    if settings.env is Environment.PRODUCTION:
        try:
            asyncio.run(_check(settings))
        except Unfit as unfit:
            sys.stderr.write(f"{unfit}\n")
            return 2
    Server(create_app(settings), settings).run()
    return 0


async def _check(settings: ApiSettings) -> None:
    """Check before the server runs, so that a refusal is plain text, not a traceback."""
    async with opened(settings) as services:
        await check(services)


if __name__ == "__main__":
    sys.exit(main())
