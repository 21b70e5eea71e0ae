from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from support.directory_trees import make_tree

from sandbox.docker.garbage_collection import MACHINE
from sandbox.docker.image import SandboxImage
from sandbox.docker.tree_images import (
    KEPT_SECONDS,
    MADE_FROM,
    TREES_LABEL,
    image_tag,
    is_unused,
    unite_trees,
)
from sandbox.protocol import SandboxUnavailable

LABELS = {MACHINE: "here", MADE_FROM: "sha256:1", TREES_LABEL: "a b"}


def test_the_first_tree_is_on_top_and_links_are_not_followed(tmp_path: Path) -> None:
    below = {"x": b"below", "d/deep": b"1", "e": b"a file", "link": "/etc", "run": b"#!/bin/sh"}
    make_tree(tmp_path, "top", {"x": b"top", "d": b"a file", "e/in": b"2"})
    make_tree(tmp_path, "below", below)
    (tmp_path / "below" / "pipe").touch()
    data = b"".join(unite_trees(tmp_path, ("top", "below")).archive())
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        members = {member.name: member for member in archive.getmembers()}
        assert set(members) == {
            "base", *(f"base/{name}" for name in ("x", "d", "e", "e/in", "link", "pipe", "run"))
        }  # fmt: skip
        assert archive.extractfile("base/x").read() == b"top"  # type: ignore[union-attr]
        assert (members["base/d"].isfile(), members["base/e"].isdir()) == (True, True)
        assert (members["base/link"].issym(), members["base/link"].linkname) == (True, "/etc")
        assert (members["base/run"].mode, members["base/x"].mode) == (0o755, 0o644)


def test_a_missing_tree_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="cannot be read"):
        unite_trees(tmp_path, ("none",))


def test_the_tag_depends_on_the_image_and_the_trees_in_order() -> None:
    first, second = SandboxImage("sha256:1", "x"), SandboxImage("sha256:2", "x")
    tags = {
        image_tag(first, ("a", "b")),
        image_tag(first, ("b", "a")),
        image_tag(second, ("a", "b")),
    }
    assert len(tags) == 3
    assert image_tag(first, ("a", "b")) in tags


@pytest.mark.parametrize(
    ("labels", "age", "existing_trees", "expected"),
    [
        (LABELS, 0.0, {"a", "b"}, False),
        (LABELS, 0.0, {"a"}, True),
        (LABELS, KEPT_SECONDS + 1, {"a", "b"}, True),
        ({**LABELS, MADE_FROM: "sha256:0"}, 0.0, {"a", "b"}, True),
        ({**LABELS, MACHINE: "elsewhere"}, 0.0, set(), False),
        ({**LABELS, MACHINE: "elsewhere"}, KEPT_SECONDS + 1, {"a", "b"}, True),
    ],
)
def test_an_image_is_unused_if_it_is_old_or_no_run_here_can_need_it(
    labels: dict[str, str], age: float, existing_trees: set[str], expected: bool
) -> None:
    has_tree = existing_trees.__contains__
    assert is_unused(labels, age, "here", "sha256:1", has_tree) is expected
