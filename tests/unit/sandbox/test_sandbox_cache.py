from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from sandbox.cache import ResultCache, environment
from sandbox.protocol import Command, End, Layer, Limits, RunResult, Sandbox, Stream

LIMITS = Limits()
CODE = Command.python("print(1)", {"a": b"1"})
LAYERS = (Layer("x", True, "y"),)


@dataclass
class Counting:
    """A sandbox in memory: each run says which it is."""

    end: End = End.EXITED
    changed: dict[str, bytes] = field(default_factory=dict)
    runs: int = 0
    closed: bool = False

    async def run(self, command: Command, limits: Limits) -> RunResult:
        if any(".." in path for path in command.files):
            raise ValueError("path")
        self.runs += 1
        code = 0 if self.end is End.EXITED else None
        return RunResult(self.end, code, None, Stream(str(self.runs)), Stream(), 0.1, self.changed)

    async def check(self) -> tuple[Layer, ...]:
        return LAYERS

    async def close(self) -> None:
        self.closed = True


def scoped(
    inner: Counting, scope: str = "k1", cache: ResultCache | None = None, image: str = "i"
) -> Sandbox:
    return (cache or ResultCache(1 << 20)).scoped(scope, inner, image=image)


async def test_the_same_run_is_answered_as_it_was() -> None:
    inner = Counting(changed={"out": b"x"})
    sandbox = scoped(inner)
    first = await sandbox.run(CODE, LIMITS)
    # Equal, not the same object; and an exit code of its own counts as an end like any other.
    again = await sandbox.run(Command.python("print(1)", {"a": b"1"}), Limits())
    assert (first, inner.runs) == (again, 1)
    assert again.changed == {"out": b"x"}


@pytest.mark.parametrize(
    ("command", "limits"),
    [
        (Command.python("print(2)", {"a": b"1"}), LIMITS),
        (Command.python("print(1)", {"a": b"2"}), LIMITS),
        (replace(CODE, stdin=b"x"), LIMITS),
        (replace(CODE, seed=1), LIMITS),
        (Command.python("print(1)\udcff", {"a": b"1"}), LIMITS),
        (CODE, Limits(wall_seconds=14.0)),
    ],
)
async def test_another_run_is_run(command: Command, limits: Limits) -> None:
    inner = Counting()
    sandbox = scoped(inner)
    await sandbox.run(CODE, LIMITS)
    assert (await sandbox.run(command, limits)).stdout.text == "2"


async def test_two_scopes_and_two_images_never_share() -> None:
    inner, cache = Counting(), ResultCache(1 << 20)
    seen = [
        (await scoped(inner, scope, cache, image).run(CODE, LIMITS)).stdout.text
        for scope, image in itertools.product(("k1", "k2", "k1i"), ("i", "", "ii"))
    ]
    assert len(set(seen)) == len(seen) == 9
    assert (await scoped(inner, "k2", cache, "i").run(CODE, LIMITS)).stdout.text == seen[3]


@pytest.mark.parametrize("end", [end for end in End if end is not End.EXITED])
async def test_a_run_that_did_not_end_by_itself_is_run_again(end: End) -> None:
    inner = Counting(end)
    sandbox = scoped(inner)
    for _ in range(2):
        await sandbox.run(CODE, LIMITS)
    assert inner.runs == 2


async def test_the_least_recently_used_goes_first_and_the_size_holds() -> None:
    inner = Counting(changed={"out": bytes(10_000)})
    sandbox = scoped(inner, cache=ResultCache(35_000))  # three of them
    one, two, three, four = (Command.python(str(n)) for n in range(4))
    for command in (one, two, three, one, four):
        await sandbox.run(command, LIMITS)
    assert inner.runs == 4
    for command in (one, three, four):
        await sandbox.run(command, LIMITS)
    assert inner.runs == 4
    await sandbox.run(two, LIMITS)
    assert inner.runs == 5


def test_an_installation_changes_the_name_of_an_environment(tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    for each in (python.parent, packages):
        each.mkdir(parents=True)
    python.write_text("")
    before = environment(python)
    assert environment(python) == before
    (packages / "numpy-2.0.dist-info").mkdir()
    assert environment(python) != before
