"""Artifacts: the files that a job has made, as they stand. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agents.state import ArtifactFields


def still_there(
    before: Mapping[str, ArtifactFields],
    made: Iterable[ArtifactFields],
    files: Mapping[str, int],
) -> dict[str, ArtifactFields]:
    """By name, the latest version of each file that was made and is among the workspace's files."""
    latest = {**before, **{artifact["name"]: artifact for artifact in made}}
    return {name: artifact for name, artifact in sorted(latest.items()) if name in files}
