"""What `deploy/` needs to be told: `python -m sandbox.docker digest | files DIRECTORY | filter`.

digest              of what the sandboxes' image holds of ours, as its label tells it
files DIRECTORY     lays those files below DIRECTORY
filter              the system call filter, as it is shipped in deploy/seccomp-sandbox.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sandbox.docker import image
from sandbox.seccomp import engine_profile


def main() -> None:
    """Do what the arguments say."""
    match sys.argv[1:]:
        case ["digest"]:
            print(image.digest())
        case ["files", directory]:
            _lay(Path(directory))
        case ["filter"]:
            print(json.dumps(engine_profile.profile(), indent=1))
        case _:
            sys.exit(__doc__)


def _lay(top: Path) -> None:
    for path, data in image.contents().items():
        place = top / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


main()
