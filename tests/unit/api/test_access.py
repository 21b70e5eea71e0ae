"""A stream carries nothing longer than it may after its reader was turned out."""

from __future__ import annotations

from types import SimpleNamespace

from api.auth import access_recheck
from api.auth.access_recheck import RECHECK_SECONDS, AccessRecheck


async def test_nothing_passes_once_the_time_to_notice_is_over(monkeypatch):
    now, revoked, asked = 0.0, False, []
    monkeypatch.setattr(access_recheck, "time", SimpleNamespace(monotonic=lambda: now))

    async def allowed() -> bool:
        asked.append(now)
        return not revoked

    async def chunks():
        nonlocal now, revoked
        yield b"before"
        revoked = True
        for now in (0.04, RECHECK_SECONDS - 0.01, RECHECK_SECONDS + 0.01, 60.0):
            yield f"at {now:g}".encode()

    passed = [chunk async for chunk in AccessRecheck(allowed).guard(chunks())]
    assert passed == [b"before", b"at 0.04", b"at 1.99"]
    assert asked == [RECHECK_SECONDS + 0.01], "it is not asked for each chunk"
