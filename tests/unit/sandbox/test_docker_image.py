"""What an image must be to become a sandbox, and what it holds of ours."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.docker import image
from sandbox.protocol import SandboxUnavailable

TOP = Path(__file__).resolve().parents[3]


def engine_answer(**labels: str) -> dict:
    return {"Id": "sha256:abc", "Config": {"Labels": labels}}


def test_an_image_with_our_digest_is_taken_by_its_id() -> None:
    found = image.require_image("sandboxes", engine_answer(**{image.LABEL: image.digest()}))
    assert (found.id, found.name) == ("sha256:abc", "sandboxes")


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (None, "has no image 'sandboxes'"),
        (engine_answer(**{image.LABEL: "0" * 64}), "of another release"),
        (engine_answer(), "is not a sandbox image of Fettle"),
        ({"Id": "sha256:abc", "Config": {"Labels": None}}, "is not a sandbox image of Fettle"),
        ({"Id": "sha256:abc", "Config": None}, "is not a sandbox image of Fettle"),
    ],
)
def test_any_other_is_refused_with_the_command_that_makes_it(found, words) -> None:
    with pytest.raises(SandboxUnavailable, match=words) as caught:
        image.require_image("sandboxes", found)
    assert str(caught.value).endswith("Build it: deploy/sandbox-image.sh sandboxes")
    assert (TOP / image.BUILD).is_file()
