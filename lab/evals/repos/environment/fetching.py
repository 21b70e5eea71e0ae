"""`python -I fetching.py REQUIREMENT PYTHON FOLDER` fetches a source distribution, without running
it.

`pip download` would run the package's code for its metadata. Therefore this program asks pip's
finder, with pip's full configuration, and writes the archive into FOLDER; its output is the
archive's name. It uses functions of pip that are not public: the version is locked, and a test
checks them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from packaging.requirements import Requirement
from pip._internal.commands.download import DownloadCommand
from pip._internal.models.target_python import TargetPython
from pip._internal.network.utils import response_chunks
from pip._vendor.packaging.specifiers import SpecifierSet


def fetch(requirement: Requirement, python: str, folder: Path) -> str:
    """The name of the archive; empty if the index has no archive."""
    command = DownloadCommand("download", "")
    with command.main_context():
        options, _ = command.parse_args(["--quiet", "--no-input", "--no-binary", ":all:"])
        session = command.get_default_session(options)
        version = tuple(int(part) for part in python.split(".")[:3])
        target = TargetPython(None, version)
        finder = command._build_package_finder(options, session, target)  # noqa: SLF001
        specifier = SpecifierSet(str(requirement.specifier))
        best = finder.find_best_candidate(requirement.name, specifier).best_candidate
        if best is None:
            return ""
        response = session.get(best.link.url_without_fragment, stream=True)
        response.raise_for_status()
        content = b"".join(response_chunks(response))
        if best.link.has_hash:
            best.link.as_hashes().check_against_chunks(iter([content]))
        (folder / best.link.filename).write_bytes(content)
        return best.link.filename


if __name__ == "__main__":
    sys.stdout.write(fetch(Requirement(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
