"""Saving a job's recording to a file of this machine."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from cli.errors import CliError
from cli.service import Service


def save(service: Service, job_id: str, path: Path) -> None:
    """Write the recording, in one step, readable by its owner alone.

    Raises Refused where there is none, CliError where it cannot be written.
    """
    content = service.recording(job_id)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except OSError as error:
        raise CliError("the recording was not saved", f"{path}: {error.strerror}") from None
