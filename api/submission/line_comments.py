"""Comments on lines of a review's patch: checked against it, with the lines around them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from api.http.field_errors import LONGEST_MESSAGE
from api.schemas.problem import FieldError
from api.schemas.review import SentComment
from api.submission.job_requests import refuse
from jobs.blobs.directory import Blobs
from jobs.errors import NotShown
from jobs.model.review import Comment, Review
from jobs.view import patch as patches
from jobs.view.comments import anchored
from jobs.view.patch import MOST_BYTES, read


async def on_lines(
    blobs: Blobs, review: Review, sent: Sequence[SentComment]
) -> tuple[Comment, ...]:
    """The comments of a decision. Raises Refused (422), BlobMissing."""
    if not sent:
        return ()
    patch = patches.of_review(review)
    if patch is None:
        refuse([FieldError(field="comments", message="this review shows no patch")])
    elif patch.size > MOST_BYTES:
        why = "the patch is too large to comment on its lines: say it in the feedback"
        refuse([FieldError(field="comments", message=why)])
    assert patch is not None  # noqa: S101 - refused above
    content = await blobs.get(patch.digest)
    found, errors = await asyncio.to_thread(_anchored, content, sent)
    refuse(errors)
    return tuple(found)


def _anchored(
    content: bytes, sent: Sequence[SentComment]
) -> tuple[list[Comment], list[FieldError]]:
    files, found, errors = read(content), [], []
    for number, each in enumerate(sent):
        try:
            comment = Comment(each.path, each.line, each.side, each.text)
            found.append(anchored(comment, files))
        except NotShown as error:
            errors.append(
                FieldError(field=f"comments.{number}", message=str(error)[:LONGEST_MESSAGE])
            )
    return found, errors
