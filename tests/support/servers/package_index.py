"""A package index on loopback, and wheels that a test writes."""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Mapping, Sequence

from support.servers.web_server import Answer, WebServer

JSON = "application/vnd.pypi.simple.v1+json"


def wheel(name: str, version: str, files: Mapping[str, str], needs: Sequence[str] = ()) -> bytes:
    """A pure wheel with these files by path."""
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}"]
    metadata += [f"Requires-Dist: {requirement}" for requirement in needs]
    metadata += [
        f"Provides-Extra: {extra}" for extra in re.findall(r"extra == '(\w+)'", "".join(needs))
    ]
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/METADATA", "\n".join(metadata) + "\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
        archive.writestr(f"{info}/RECORD", "")
    return packed.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def serve(
    server: WebServer, files: Mapping[str, Mapping[str, bytes]], *, html: bool = False
) -> str:
    """Offer files by package and file name; returns the index's address."""
    for name, package_files in files.items():
        entries = [
            {
                "filename": filename,
                "url": f"/files/{filename}",
                "hashes": {"sha256": sha256(content)},
            }
            for filename, content in package_files.items()
        ]
        page = Answer(json.dumps({"files": entries}).encode(), kind=JSON)
        if html:
            anchors = (
                f'<a href="../../files/{filename}#sha256={sha256(content)}">{filename}</a>'
                for filename, content in package_files.items()
            )
            page = Answer("<br>".join(anchors).encode())
        server.answers[f"/simple/{name}/"] = page
        for filename, content in package_files.items():
            server.answers[f"/files/{filename}"] = Answer(content, kind="application/octet-stream")
    return server.url("/simple/")
