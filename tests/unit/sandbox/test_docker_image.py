"""The check that an engine's image has Fettle's files."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.docker import image
from sandbox.protocol import SandboxUnavailable

TOP = Path(__file__).resolve().parents[3]


def description(**labels: str) -> dict:
    return {"Id": "sha256:abc", "Config": {"Labels": labels}}


def test_an_image_with_the_current_digest_is_used_by_its_id() -> None:
    current = description(**{image.LABEL: image.digest()})
    sandbox_image = image.require_image("sandboxes", current)
    assert (sandbox_image.id, sandbox_image.name) == ("sha256:abc", "sandboxes")


@pytest.mark.parametrize(
    ("engine_description", "error"),
    [
        (None, "has no image 'sandboxes'"),
        (description(**{image.LABEL: "0" * 64}), "of another release"),
        (description(), "is not a sandbox image of Fettle"),
        ({"Id": "sha256:abc", "Config": {"Labels": None}}, "is not a sandbox image of Fettle"),
        ({"Id": "sha256:abc", "Config": None}, "is not a sandbox image of Fettle"),
    ],
)
def test_another_image_is_refused_with_the_command_that_builds_it(
    engine_description, error
) -> None:
    with pytest.raises(SandboxUnavailable, match=error) as caught:
        image.require_image("sandboxes", engine_description)
    assert str(caught.value).endswith("Build it: deploy/sandbox-image.sh sandboxes")
    assert (TOP / image.BUILD).is_file()
