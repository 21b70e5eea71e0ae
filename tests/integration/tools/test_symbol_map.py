"""The map of a repository, made in a real sandbox over its layer."""

from __future__ import annotations

import dataclasses
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from support.directory_trees import make_tree
from support.servers import docker_engine as engines

from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.ports.repository import RepositoryFacts
from agents.runs.symbols import GRAMMARS, MAP_BYTES, symbol_map
from agents.tree import Tree
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import Limits

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
LANGUAGES = {
    "app/fees.py": """
class Fees:
    def per_hour(self):
        def inner(): ...
async def charged(): ...
""",
    "c/list.c": "struct node { int x; };\nstatic struct node *find(int x) { return 0; }\n",
    "c/list.h": "typedef struct node Node;\nint count(void);\n",
    "c/shape.cpp": "class Shape { int area(); };\nint Shape::area() { return 1; }\n",
    "go/main.go": "type Server struct{}\nfunc (s *Server) Run() {}\nfunc main() {}\n",
    "java/Till.java": "class Till { record Coin(int v) {} int total() { return 1; } }\n",
    "js/cart.js": "export const add = (x) => x;\nclass Cart { sum() {} }\nfunction clear() {}\n",
    "php/user.php": "<?php\nclass User { function name() {} }\nfunction greet() {}\n",
    "rb/tariff.rb": "module Billing\n  class Tariff\n    def price; end\n  end\nend\n",
    "rs/lib.rs": "struct Lot;\nimpl Lot { fn park(&self) {} }\nmacro_rules! m { () => {} }\n",
    "ts/view.tsx": "export class View { render() { return <p/>; } }\n",
    "ts/types.ts": "interface Row { id: number }\nexport type Id = string;\nenum Kind { A }\n",
}
EXPECTED = {
    "app/fees.py: Fees 2 (per_hour 3), charged 5",
    "c/list.c: node 1, find 2",
    "c/list.h: Node 1, count 2",
    "c/shape.cpp: Shape 1 (area 1), area 2",
    "go/main.go: Server 1, Run 2, main 3",
    "java/Till.java: Till 1 (Coin 1, total 1)",
    "js/cart.js: add 1, Cart 2 (sum 2), clear 3",
    "php/user.php: User 2 (name 2), greet 3",
    "rb/tariff.rb: Billing 1 (Tariff 2)",
    "rs/lib.rs: Lot 1 (park 2), m 3",
    "ts/view.tsx: View 1 (render 1)",
    "ts/types.ts: Row 1, Id 2, Kind 3",
}
NESTED = 60_000
HOSTILE = {
    "deep.py": b"(" * NESTED + b")" * NESTED,
    "deep.js": b"[" * NESTED,
    "deep.cpp": b"{" * NESTED + b"a<" * NESTED,
    "deep.rs": b"fn f() {" * (NESTED // 4),
    "line.js": b"x" * (10 << 20),
    "minified.js": b"function f(){}" * 2_000,
    "binary.py": b"def f(): pass\n\0\1\2",
    "latin.py": b"def caf\xe9(): pass\ndef right(): '\xff'\n",
    "link.py": "/etc/passwd",
    "gone.py": "nowhere",
    "folder.py/x.py": b"def inside(): pass\n",
    "vendor/x.py": b"def of_others(): pass\n",
    "odd\nname.py": b"def odd(): pass\n",
    "good.py": b"def good(): pass\n",
}


class TreeWorkspace:
    """A workspace that consists of a single layer."""

    def __init__(self, layer: str) -> None:
        self._layer = layer

    async def tree(self) -> Tree:
        return Tree(layers=(self._layer,))


@pytest_asyncio.fixture
async def make_map(request: pytest.FixtureRequest) -> AsyncIterator[Any]:
    """Makes the map of these files for a task."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name) / "layers"
        top.mkdir()
        sandbox: LocalSandbox | DockerSandbox = LocalSandbox(
            PYTHON, pool_size=0, trees_directory=top
        )
        if getattr(request, "param", "local") == "docker":
            host = request.getfixturevalue("docker_engine").host
            sandbox = DockerSandbox(engines.IMAGE, pool_size=0, engine=host, trees_directory=top)

        async def make(
            files: Mapping[str, bytes | str],
            task: str,
            sandbox: LocalSandbox | DockerSandbox = sandbox,
        ) -> str:
            if not (top / "files").exists():
                make_tree(top, "files", files)
            models: Any = None
            workspace: Any = TreeWorkspace("files")
            ports = dataclasses.replace(
                ports_over(MemoryRecord(), sandbox, models),
                workspace=workspace,
                repository=RepositoryFacts("c" * 40, len(files)),
                limits=Limits(),
            )
            return await symbol_map(ports, task)

        yield make
        await sandbox.close()


@pytest.mark.parametrize("make_map", ["local", *engines.BACKENDS], indirect=True)
async def test_each_language_is_known_by_its_definitions(make_map) -> None:
    files = {path: text.encode() for path, text in LANGUAGES.items()}
    text = await make_map(files, "charge")
    assert set(text.splitlines()) == EXPECTED
    assert text.startswith("app/fees.py")
    assert {path.rpartition(".")[2] for path in LANGUAGES} | {"h"} <= set(GRAMMARS)
    assert (await make_map(files, "park a lot")).startswith("rs/lib.rs")


async def test_a_hostile_file_affects_no_other_file(make_map) -> None:
    text = await make_map(HOSTILE, "deep.py, deep.js and deep.cpp are slow")
    lines = set(text.splitlines())
    assert {"good.py: good 1", "folder.py/x.py: inside 1"} <= lines
    assert any(line.startswith("latin.py: ") and line.endswith("right 2") for line in lines)
    unmapped = ("binary", "line", "link", "gone", "minified", "vendor", "odd", "root:")
    assert [line for line in lines if line.startswith(unmapped)] == []


async def test_a_large_repository_takes_bounded_time_and_size(make_map) -> None:
    body = b"".join(b"def name_%d(): return other_%d()\n" % (n, n) for n in range(40))
    files = {f"p{number // 100}/m{number}.py": body for number in range(3_000)}
    files["ledger/book.py"] = b"def entry(): pass\n"
    before = time.monotonic()
    text = await make_map(files, "The ledger's entry is wrong")
    assert text.startswith("ledger/book.py: entry 1\n")
    assert MAP_BYTES - 500 < len(text.encode()) <= MAP_BYTES
    assert time.monotonic() - before < 60
    assert await make_map(files, "The ledger's entry is wrong") == text


async def test_a_sandbox_without_grammars_makes_an_empty_map(make_map) -> None:
    files = {path: text.encode() for path, text in LANGUAGES.items()}
    assert await make_map(files, "x")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        top = Path(name) / "layers"
        top.mkdir()
        make_tree(top, "files", files)
        without_grammars = LocalSandbox(Path("/usr/bin/python3"), pool_size=0, trees_directory=top)
        try:
            assert await make_map(files, "x", without_grammars) == ""
        finally:
            await without_grammars.close()


@pytest.mark.parametrize("files", [{"README.md": b"text"}, {"empty.py": b""}])
async def test_the_map_is_empty_without_definitions(make_map, files: dict[str, bytes]) -> None:
    assert await make_map(files, "x") == ""
