"""`install`: listed packages alone, wheels alone, from the operator's index, into the workspace."""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.graph.graphs import call
from support.graph.tool_runs import use
from support.servers.package_index import serve, sha256, wheel
from support.servers.web_server import Answer, WebServer, web_server

from agents.errors import ToolRefused
from agents.ports.network import Target
from agents.tools.optional.install import install
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python
from settings.tools import ToolSettings
from worker.adapters.tools import packages
from worker.egress.packages.pip import PipPackages

pytestmark = pytest.mark.asyncio(loop_scope="module")

SHOUT = {
    f"shout-{version}-py3-none-any.whl": wheel(
        "shout", version, {"shout.py": f"def shout(text):\n    return text.upper() + '!' * {n}\n"}
    )
    for n, version in ((1, "1.0"), (2, "2.0"))
}
GREET = wheel(
    "greet",
    "1.0",
    {
        "greet/__init__.py": "from shout import shout\ndef greet(name): return shout(name)\n",
        "greet/words.txt": "hello\n",
        "greet-1.0.data/purelib/greeted.py": "YES = True\n",
        "greet.pth": "import os; os._exit(3)\n",
    },
    ["shout<2", "numpy>=2", "nowhere; python_version < '3'", "colour; extra == 'colour'"],
)
FILES = {
    "greet": {"greet-1.0-py3-none-any.whl": GREET, "greet-2.0.tar.gz": b"no wheel"},
    "shout": SHOUT,
    "source-only": {"source-only-1.0.tar.gz": b"setup.py would run"},
    "forged": {"forged-1.0-py3-none-any.whl": wheel("another", "1.0", {"forged.py": ""})},
    "broken": {"broken-1.0-py3-none-any.whl": b"PK no zip"},
    "colour": {"colour-1.0-py3-none-any.whl": wheel("colour", "1.0", {"colour.py": ""})},
    "newer-numpy": {
        "newer_numpy-1.0-py3-none-any.whl": wheel("newer-numpy", "1.0", {"n.py": ""}, ["numpy>=99"])
    },
}

MARKERS = {
    "python_version": "3.11",
    "python_full_version": "3.11.7",
    "sys_platform": "linux",
    "extra": "",
}
TARGET = Target(("py3-none-any",), MARKERS, {"numpy": "2.4.6"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=2)
    yield local
    await local.close()


def allowing(folder: Path, index: str, listed: str, **settings: Any) -> PipPackages:
    (folder / "list.txt").write_text(listed)
    allowed = ToolSettings(install_list=folder / "list.txt", install_index=index, **settings)
    port = packages(allowed)
    assert port is not None
    return port


async def test_a_package_and_what_it_needs_can_be_imported_in_later_runs(
    tmp_path: Path, sandbox: LocalSandbox, server: WebServer
) -> None:
    index = serve(server, FILES)
    code = "from greet import greet; import greeted, numpy, sys; print(greet('ada'), sys.path[0])"
    test = b"import greet\n\ndef test_greet():\n    assert greet.greet('ada') == 'ADA!'\n"
    used = await use(
        tmp_path,
        sandbox,
        call("install", packages=["greet"]),
        call("python", code=code),
        call("shell", command="python -c 'import greet; print(greet.__file__)'"),
        call("verify", paths=["."]),
        call("install", packages=["greet"]),
        call("search", pattern="sitecustomize|shout"),
        call("install", packages=["greet; " + "(" * 5_000]),
        files={"test_greet.py": test, "sitecustomize.py": b"import os\nos.environ['OWN'] = '1'\n"},
        tools=(install,),
        packages=allowing(tmp_path, index, "greet\nshout\n"),
    )
    assert used.texts[0] == "installed greet 1.0, shout 1.0"
    assert used.texts[1] == "exit code 0\n\nstdout:\nADA! /work"
    assert used.texts[2] == "exit code 0\n\nstdout:\n/tmp/.packages/greet/__init__.py"
    assert used.texts[3] == "passed: 1 passed"
    assert used.texts[4] == "installed greet 1.0"
    assert used.texts[5] == "no match in 4 files"
    assert "packages.0: String should have at most 120 characters" in used.texts[6]
    assert set(await used.files()) == {
        ".packages/greet-1.0-py3-none-any.whl",
        ".packages/shout-1.0-py3-none-any.whl",
        "test_greet.py",
        "sitecustomize.py",
    }
    data = used.data[0]
    assert (data["tool"], data["ok"], data["artifacts"]) == ("install", True, [])
    assert f"greet-1.0-py3-none-any.whl (sha256 {sha256(GREET)})" in data["note"]
    assert (await used.journey.outcome()).artifacts == ()
    assert "/simple/nowhere/" not in server.asked


NOT_ALLOWED = {
    "requests": "requests is not on the operator's list: ",
    "greet": "shout is needed too, and is not on the operator's list",
    "source-only": "No matching distribution found for source-only",
    "forged": "forged has an invalid wheel",
    "broken": "broken-1.0-py3-none-any.whl is invalid",
    "missing": "No matching distribution found for missing",
    "colour>=2": "No matching distribution found for colour>=2",
    "newer-numpy": "numpy==2.4.6+there",
    "numpy<1": "numpy==2.4.6+there",
    "colour @ https://evil.test/colour.whl": "a package comes from the index",
    "--index-url=https://evil.test": "is not a valid requirement",
    "../colour": "is not a valid requirement",
    "colour; python_version > '3'": "a package comes from the index, under its name",
}


async def test_what_is_not_allowed_is_not_installed(tmp_path: Path, server: WebServer) -> None:
    listed = "greet\nsource-only\nforged\nbroken\nmissing\ncolour\nnewer-numpy\nnumpy\n"
    port = allowing(tmp_path, serve(server, FILES), listed)
    for wanted, words in NOT_ALLOWED.items():
        with pytest.raises(ToolRefused) as refused:
            await port.wheels([wanted], TARGET)
        assert words in str(refused.value)
    assert "/files/source-only-1.0.tar.gz" not in server.asked


async def test_what_a_package_needs_may_be_allowed_as_a_rule(
    tmp_path: Path, server: WebServer
) -> None:
    index = serve(server, FILES, html=True)
    port = allowing(tmp_path, index, "greet\n", install_dependencies=True)
    found = await port.wheels(["greet[colour]"], TARGET)
    assert [each.filename[:-17] for each in found] == ["colour-1.0", "greet-1.0", "shout-1.0"]
    with pytest.raises(ToolRefused, match="shout is not on the operator's list: greet"):
        await port.wheels(["shout"], TARGET)


async def test_a_list_with_hashes_lets_those_files_in_alone(
    tmp_path: Path, server: WebServer
) -> None:
    name = "shout-1.0-py3-none-any.whl"
    greet, shout = sha256(GREET), sha256(SHOUT[name])
    listed = f"greet==1.0 --hash=sha256:{greet}\nshout==1.0 --hash=sha256:{shout}\n"
    port = allowing(tmp_path, serve(server, FILES), listed, install_dependencies=True)
    assert [each.digest for each in await port.wheels(["greet"], TARGET)] == [greet, shout]
    other = wheel("shout", "1.0", {"shout.py": "import os; os.system('evil')\n"})
    serve(server, {"shout": {name: other}})
    with pytest.raises(
        ToolRefused,
        match=r"shout-1\.0-py3-none-any\.whl is not one of the files on the operator's list",
    ):
        await port.wheels(["greet"], TARGET)
    serve(server, {"shout": {name: SHOUT[name]}})
    server.answers[f"/files/{name}"] = Answer(other)
    with pytest.raises(ToolRefused, match="DO NOT MATCH THE HASHES"):
        await port.wheels(["greet"], TARGET)
    page = server.answers["/simple/shout/"]
    assert isinstance(page, Answer)
    silent = re.sub(rb'"hashes": {[^}]*}', b'"hashes": {}', page.body)
    server.answers["/simple/shout/"] = Answer(silent, kind=page.kind)
    with pytest.raises(ToolRefused, match="is not one of the files on the operator's list"):
        await port.wheels(["greet"], TARGET)


async def test_the_index_is_reached_and_nothing_else(tmp_path: Path, server: WebServer) -> None:
    """Links and redirects to other hosts lead nowhere; the password goes to the index alone."""
    serve(server, FILES)
    index = server.url("/simple/", "me:secret@127.0.0.1")
    with web_server() as other:
        name = "colour-1.0-py3-none-any.whl"
        elsewhere = other.url(f"/files/{name}", "localhost")
        serve(other, {"colour": FILES["colour"]})
        page = server.answers["/simple/colour/"]
        assert isinstance(page, Answer)
        body = page.body.replace(f"/files/{name}".encode(), elsewhere.encode())
        server.answers["/simple/colour/"] = Answer(body, kind=page.kind)
        away = {"Location": other.url("/simple/shout/")}
        server.answers["/simple/shout/"] = Answer(status=302, headers=away)
        port = allowing(tmp_path, index, "colour\nshout\n")
        for wanted in ("colour", "shout"):
            with pytest.raises(ToolRefused) as refused:
                await port.wheels([wanted], TARGET)
            assert "is not on the operator's list" in str(refused.value)
            assert "secret" not in str(refused.value)
        assert other.asked == []
        hosts = (f"localhost:{other.port}",)
        port = allowing(tmp_path, index, "colour\n", install_hosts=hosts)
        assert len(await port.wheels(["colour"], TARGET)) == 1
        assert "authorization" not in other.headers[0]
    credentials = base64.b64encode(b"me:secret").decode()
    assert {each["authorization"] for each in server.headers} == {f"Basic {credentials}"}


async def test_size_and_time_are_bounded(tmp_path: Path, server: WebServer) -> None:
    index = serve(server, FILES)

    async def refused(name: str, **more: Any) -> str:
        with pytest.raises(ToolRefused) as error:
            await allowing(tmp_path, index, f"{name}\n", **more).wheels([name], TARGET)
        return str(error.value)

    assert "more than 100 bytes of packages" in await refused("colour", install_bytes=100)
    held = threading.Event()
    server.answers["/simple/late/"] = Answer(pause=held)
    assert "took longer than 0.3 s" in await refused("late", install_seconds=0.3)
    held.set()


async def test_only_install_puts_files_among_the_packages(
    tmp_path: Path, sandbox: LocalSandbox, server: WebServer
) -> None:
    """What is importable as a package has come from the operator's index, whatever a run does."""
    port = allowing(tmp_path, serve(server, FILES), "colour\n")
    forge = (
        "import pathlib, shutil\nshutil.rmtree('.packages')\npathlib.Path('.packages').mkdir()\n"
        "pathlib.Path('.packages/evil-1.0-py3-none-any.whl').write_bytes(b'PK')\n"
    )
    used = await use(
        tmp_path,
        sandbox,
        call("install", packages=["colour"]),
        call("python", code=forge),
        call("write_file", path=".packages/evil.whl", content="PK"),
        call("edit_file", path=".packages/colour-1.0-py3-none-any.whl", old_text="P", new_text=""),
        call("python", code="import colour"),
        tools=(install,),
        packages=port,
    )
    assert used.texts[1].startswith("exit code 0")
    assert "evil-1.0-py3-none-any.whl: what is installed stays as it is" in used.texts[1]
    assert used.texts[2] == "error: files in .packages/ and .setup/ are installed, and not written"
    assert used.texts[3].startswith("error: ")
    assert used.texts[4].startswith("exit code 0")
    assert list(await used.files()) == [".packages/colour-1.0-py3-none-any.whl"]
