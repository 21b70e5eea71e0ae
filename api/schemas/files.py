"""The files of a job in responses."""

from __future__ import annotations

from pydantic import Field

from api.schemas.fields import ResponseModel
from api.schemas.job_result import Patch
from jobs.model.run_data import ArtifactData


class ArtifactList(ResponseModel):
    """Files that runs and tools made, in their newest versions."""

    artifacts: list[ArtifactData]


class File(ResponseModel):
    """A file of the workspace."""

    path: str = Field(description="relative to the workspace")
    digest: str = Field(description="sha256, hexadecimal")
    size: int = Field(description="bytes")
    href: str = Field(description="the path of its bytes in this API")


class FileList(ResponseModel):
    """The workspace."""

    files: list[File]
    links: dict[str, str] = Field(
        description="Symbolic links: targets by path. They cannot be downloaded, and archives do "
        "not contain them, because a target may lead anywhere"
    )
    digest: str | None = Field(description="the digest of the manifest; null: no files")


class ChangedFile(ResponseModel):
    """A file that the job has changed."""

    path: str = Field(description="after the change; of a deleted file, before it")
    notes: list[str] = Field(description="changes other than those of lines, such as `new`")
    insertions: int = Field(description="lines")
    deletions: int = Field(description="lines")
    unread: str = Field(description="why its lines were not read; empty: they were")
    facts: list[str] = Field(
        description="why a reviewer should look at it: tests that are removed, skipped or "
        "weakened, test configuration, CI, lock files and their hosts, new dependencies, binaries, "
        "secrets, permissions, generated files, files outside the directories that the task names. "
        "Names and lines show them by pattern: a file without facts may still be wrong"
    )


class ChangeList(ResponseModel):
    """The change of a job's work: of the open review, else of the result, else of the present
    files."""

    since: str = Field(description="`start`, or the number of a review")
    until: str = Field(description="`now`, or the number of a review")
    patch: Patch | None = Field(description="the stored patch; null: the job has none")
    files: list[ChangedFile] = Field(description="those with facts first")
    complete: bool = Field(
        description="false: the patch is too large to be read, and `files` empty"
    )
