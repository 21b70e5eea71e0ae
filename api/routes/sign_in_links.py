"""Sign-in links: how a terminal hands its key over to a browser, without showing it."""

from __future__ import annotations

import structlog
from fastapi import APIRouter, Response

from api.auth.caller import Overseer, stamp_of
from api.http.answers import as_json
from api.openapi import responses
from api.pages.session import LINK_SECONDS
from api.schemas.key import SignInLink
from api.services import ServicesDep

log = structlog.get_logger(__name__)
router = APIRouter(tags=["keys"])


@router.post(
    "/sign-in-links",
    operation_id="create_sign_in_link",
    status_code=201,
    response_model=SignInLink,
    summary="Make a link that signs in a browser",
    responses=responses(),
)
async def create(house: ServicesDep, caller: Overseer) -> Response:
    """A path under this server that signs a browser in with your key: once, and for a short time.

    Whoever follows it acts with your key's scopes and name until the session ends.
    """
    token = await house.sessions.link(caller.id, stamp_of(house.settings, caller))
    log.info("sign-in link made", key=caller.id)
    link = SignInLink(path=f"/app/sign-in/{token}", expires_seconds=LINK_SECONDS)
    return as_json(link, 201, {"Cache-Control": "no-store"})
