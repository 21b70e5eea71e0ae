"""The tool `edit_file`: one exact replacement in a text file.

Finding a text is linear in the size of the file, over the workspace's manifest: no sandbox is
needed for it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.errors import ToolRefused
from agents.paths import checked, in_workspace, objection
from agents.ports import Ports
from agents.texts import lines_of
from agents.tools.call import Answer, Runtime
from agents.tools.read_file import text_of
from agents.tools.trace import trace_of_call

MOST_BYTES = 1024 * 1024
"""Of a file that is edited here, in the worker's own process, beside other jobs."""


async def edit_file(path: str, old_text: str, new_text: str, runtime: Runtime) -> Answer:
    """Change part of a file: replace a text that is in it exactly once.

    White space counts. Where `old_text` is not there exactly once, nothing is changed, and the
    answer shows what is there.

    Args:
        path: The file's path, relative to the working directory.
        old_text: What is to be replaced, copied exactly; enough lines to be there only once.
        new_text: What takes its place; empty to remove it.
    """
    ports: Ports = runtime.context
    name = checked(in_workspace(path))
    there = ports.workspace.list()
    if (size := there.get(name, 0)) > MOST_BYTES:
        raise ToolRefused(
            f"{name!r} is too large to edit here: {size} bytes of at most {MOST_BYTES}; change it "
            "with a program"
        )
    edit = replaced(await text_of(ports.workspace, name), old_text, new_text, name)
    data = edit.text.encode(errors="replace")
    if why := objection(there, {name: len(data)}, ports.limits):
        raise ToolRefused(f"{why}; nothing was changed")
    made = await ports.workspace.apply({name: data})
    return f"edited {name} (line {edit.line})", trace_of_call("edit_file", name, ok=True, made=made)


PLACES_SHOWN = 8
NEAR_CHARACTERS = 600
MOST_SEARCHED = 256 * 1024
"""Characters of a text, and of what is not in it, that are gone through for what is like it."""
SHORTEST_LIKENESS = 0.5
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Replaced:
    """The text afterwards, and the first line that was changed, from 1."""

    text: str
    line: int


def replaced(text: str, old: str, new: str, name: str) -> Replaced:
    """`text` with `new` in place of `old`. Raises ToolRefused where `old` is not there once.

    In a file whose lines all end with CR LF, `old` and `new` are read as such lines.
    """
    if not old:
        raise ToolRefused("old_text is empty; write_file writes a whole file")
    if old == new:
        raise ToolRefused("old_text and new_text are the same: nothing would change")
    if _has_only_crlf(text):
        old, new = _as_crlf(old), _as_crlf(new)
    places = _places(text, old)
    if len(places) == 1:
        (place,) = places
        return Replaced(text[:place] + new + text[place + len(old) :], _line(text, place))
    if places:
        raise ToolRefused(_told_apart(text, places, name))
    raise ToolRefused(f"old_text is not in {name!r}. {_nearest(text, old)}")


def _places(text: str, old: str) -> list[int]:
    """Where `old` begins, the first places; those that overlap count, too."""
    places: list[int] = []
    place = text.find(old)
    while place >= 0 and len(places) <= PLACES_SHOWN:
        places.append(place)
        place = text.find(old, place + 1)
    return places


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _told_apart(text: str, places: list[int], name: str) -> str:
    lines = [str(_line(text, place)) for place in places[:PLACES_SHOWN]]
    many = len(places) > PLACES_SHOWN
    times = f"more than {PLACES_SHOWN} times" if many else f"{len(places)} times"
    return (
        f"old_text is in {name!r} {times} (lines {', '.join(lines)}{', ...' if many else ''}). "
        "Nothing was changed; give more of the lines around the one you mean"
    )


def _nearest(text: str, old: str) -> str:
    """The lines that are most like `old`, as they are."""
    if len(text) + len(old) > MOST_SEARCHED:
        return "read_file shows the file"
    lines, wanted = lines_of(text), lines_of(old)
    first = _alike(lines, wanted)
    if first is None:
        return "Nothing in it is like it; read_file shows the file"
    found = "".join(lines[first : first + len(wanted)])
    same = "".join(found.split()) == "".join(old.split())
    difference = " (only white space differs)" if same else ""
    last = min(first + len(wanted), len(lines))
    shown = found if len(found) <= NEAR_CHARACTERS else found[:NEAR_CHARACTERS] + "..."
    return f"Nearest are lines {first + 1} to {last}{difference}, which are:\n{shown}"


def _alike(lines: list[str], wanted: list[str]) -> int | None:
    """Where the lines begin that share most with those wanted; None where none shares half.

    By the words of each line: linear in the size of the texts, for this runs beside other jobs.
    """
    words = [set(_WORD.findall(line)) for line in lines]
    asked = [set(_WORD.findall(line)) for line in wanted]
    anchor = max(range(len(asked)), key=lambda index: len(asked[index]))
    best = max(range(len(words)), key=lambda index: _share(words[index], asked[anchor]), default=0)
    if not words or _share(words[best], asked[anchor]) < SHORTEST_LIKENESS:
        return None
    return max(0, best - anchor)


def _share(some: set[str], others: set[str]) -> float:
    return len(some & others) / len(some | others) if some and others else 0.0


def _has_only_crlf(text: str) -> bool:
    ends = text.count("\n")
    return 0 < ends == text.count("\r\n")


def _as_crlf(text: str) -> str:
    return re.sub(r"(?<!\r)\n", "\r\n", text)
