"""The tool `edit_file`: one exact replacement in a text file (ADR 45).

The old text must occur exactly once; the tool never guesses. Otherwise the answer shows the places
or the most similar lines. Models write line feeds; the tool writes the file's own line ends
instead, and changes no byte of other lines. The search is linear in the file's size and works on
the manifest, so it needs no sandbox.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.failures.workspace_change import change
from agents.line_ends import LF, find_places, keep_line_ends
from agents.links import locate_to_write
from agents.paths import visible, write_objection
from agents.texts import lines_of
from agents.tools.call import Answer, Runtime
from agents.tools.file_tools import text_of
from agents.tools.trace import of_use

MOST_BYTES = 1024 * 1024
"""Of a file that is edited here, in the worker's own process."""
PLACES_SHOWN = 8
NEAR_CHARACTERS = 600
MOST_SEARCHED = 256 * 1024
"""Characters of text and old text together that are searched for similar lines."""
SHORTEST_LIKENESS = 0.5
_WORD = re.compile(r"\w+")


async def edit_file(path: str, old_text: str, new_text: str, runtime: Runtime) -> Answer:
    """Change part of a file: replace a text that occurs in it exactly once.

    Args:
        old_text: The text to replace, copied exactly, with enough lines to occur only once.
    """
    ports: Ports = runtime.context
    name = locate_to_write(ports.workspace, path)
    there = ports.workspace.list()
    if (size := there.get(name, 0)) > MOST_BYTES:
        raise ToolRefused(
            f"{name!r} is too large to edit here: {size} bytes of at most {MOST_BYTES}; change it "
            "with a program"
        )
    before = await text_of(ports.workspace, path)
    edit = replaced(before, old_text, new_text, name)
    data = edit.text.encode(errors="replace")
    reason = write_objection(
        ports.workspace,
        {name: len(data)},
        ports.limits,
        has_repository=ports.repository is not None,
    )
    if reason is not None:
        raise ToolRefused(f"{reason}; nothing was changed")
    made = await ports.workspace.apply({name: data})
    diff = change({name: before.encode(errors="replace")}, {name: data}).diff
    return f"edited {visible(name)} (line {edit.line})", of_use(
        "edit_file", name, ok=True, made=made, diff=diff
    )


@dataclass(frozen=True, slots=True)
class Replaced:
    """The new text, and the first changed line, from 1."""

    text: str
    line: int


def replaced(text: str, old: str, new: str, name: str) -> Replaced:
    """`text` with `new` in place of `old`. Raises ToolRefused unless `old` occurs once."""
    if not old:
        raise ToolRefused("old_text is empty; write_file writes a whole file")
    if old == new:
        raise ToolRefused("old_text and new_text are the same: nothing would change")
    places = list(find_places(old, text, PLACES_SHOWN + 1))
    if len(places) == 1:
        ((start, end),) = places
        after = text[end:]
        new = keep_line_ends(new, text[start:end], after if LF in after else text[:start])
        return Replaced(text[:start] + new + after, _line(text, start))
    if places:
        raise ToolRefused(_told_apart(text, [start for start, _ in places], name))
    raise ToolRefused(f"old_text is not in {name!r}. {_nearest(text, old)}")


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _told_apart(text: str, places: list[int], name: str) -> str:
    lines = [str(_line(text, place)) for place in places[:PLACES_SHOWN]]
    many = len(places) > PLACES_SHOWN
    times = f"more than {PLACES_SHOWN} times" if many else f"{len(places)} times"
    return (
        f"old_text is in {name!r} {times} (lines {', '.join(lines)}{', ...' if many else ''}). "
        "Nothing was changed; include more of the surrounding lines"
    )


def _nearest(text: str, old: str) -> str:
    """The lines that are most similar to `old`."""
    if len(text) + len(old) > MOST_SEARCHED:
        return "read_file shows the file"
    lines, wanted = lines_of(text), lines_of(old)
    first = _alike(lines, wanted)
    if first is None:
        return "No line in it is similar; read_file shows the file"
    found = "".join(lines[first : first + len(wanted)])
    same = "".join(found.split()) == "".join(old.split())
    difference = " (only white space differs)" if same else ""
    last = min(first + len(wanted), len(lines))
    shown = found if len(found) <= NEAR_CHARACTERS else found[:NEAR_CHARACTERS] + "..."
    return f"The most similar lines are {first + 1} to {last}{difference}:\n{shown}"


def _alike(lines: list[str], wanted: list[str]) -> int | None:
    """The first line of the most similar lines; None if none shares half of its words.

    It compares the words of each line, in linear time.
    """
    words = [set(_WORD.findall(line)) for line in lines]
    asked = [set(_WORD.findall(line)) for line in wanted]
    anchor = max(range(len(asked)), key=lambda index: len(asked[index]))
    best = max(range(len(words)), key=lambda index: _share(words[index], asked[anchor]), default=0)
    if not words or _share(words[best], asked[anchor]) < SHORTEST_LIKENESS:
        return None
    return max(0, best - anchor)


def _share(some: set[str], others: set[str]) -> float:
    both = len(some & others)  # takes the time of the smaller set
    return both / (len(some) + len(others) - both) if some and others else 0.0
