"""Saving a job's recording to a file of this machine."""

from __future__ import annotations

from pathlib import Path

from cli.errors import CliError
from cli.service import Service
from jobs import whole_file


def save(service: Service, job_id: str, path: Path) -> None:
    """Write the recording, in one step, readable by its owner alone.

    Raises Refused where there is none, CliError where it cannot be written.
    """
    content = service.recording(job_id)
    try:
        whole_file.write(path, content)
    except OSError as error:
        raise CliError("the recording was not saved", f"{path}: {error.strerror}") from None
