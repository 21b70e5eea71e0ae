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
from agents.paths import visible
from agents.texts import lines_of
from agents.tools.call import Answer, Runtime
from agents.tools.file_tools import text_of
from agents.tools.trace import of_use

MOST_BYTES = 1024 * 1024
"""The largest size of a file that is edited in the worker's own process."""
MOST_PLACES = 8
"""The number of places that an answer names."""
EXCERPT_CHARACTERS = 600
MOST_SEARCHED = 256 * 1024
"""The largest length of text and old text together in which similar lines are searched."""
LEAST_SIMILARITY = 0.5
_WORD = re.compile(r"\w+")


async def edit_file(path: str, old_text: str, new_text: str, runtime: Runtime) -> Answer:
    """Change part of a file: replace a text that occurs in it exactly once.

    Args:
        old_text: The text to replace, copied exactly, with enough lines to occur only once.
    """
    ports: Ports = runtime.context
    name = locate_to_write(ports.workspace, path)
    if (size := ports.workspace.list().get(name, 0)) > MOST_BYTES:
        raise ToolRefused(
            f"{name!r} is too large to edit here: {size} bytes of at most {MOST_BYTES}; change it "
            "with a program"
        )
    before = await text_of(ports.workspace, path)
    edit = replace_once(before, old_text, new_text, name)
    data = edit.text.encode(errors="replace")
    if reason := ports.write_objection({name: len(data)}):
        raise ToolRefused(f"{reason}; nothing was changed")
    artifacts = await ports.workspace.apply({name: data})
    diff = change({name: before.encode(errors="replace")}, {name: data}).diff
    return f"edited {visible(name)} (line {edit.line})", of_use(
        "edit_file", name, ok=True, artifacts=artifacts, diff=diff
    )


@dataclass(frozen=True, slots=True)
class Edit:
    """The result of a replacement."""

    text: str
    """The new text of the file."""
    line: int
    """The first changed line, from 1."""


def replace_once(text: str, old: str, new: str, name: str) -> Edit:
    """`text` with `new` in place of `old`. Raises ToolRefused unless `old` occurs once."""
    if not old:
        raise ToolRefused("old_text is empty; write_file writes a complete file")
    if old == new:
        raise ToolRefused("old_text and new_text are the same: nothing would change")
    matches = list(find_places(old, text, MOST_PLACES + 1))
    if len(matches) == 1:
        ((start, end),) = matches
        after = text[end:]
        new = keep_line_ends(new, text[start:end], after if LF in after else text[:start])
        return Edit(text[:start] + new + after, _line_number(text, start))
    if matches:
        raise ToolRefused(_explain_ambiguity(text, [start for start, _ in matches], name))
    raise ToolRefused(f"old_text is not in {name!r}. {_describe_similar(text, old)}")


def _line_number(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _explain_ambiguity(text: str, starts: list[int], name: str) -> str:
    lines = [str(_line_number(text, start)) for start in starts[:MOST_PLACES]]
    has_more = len(starts) > MOST_PLACES
    times = f"more than {MOST_PLACES} times" if has_more else f"{len(starts)} times"
    return (
        f"old_text is in {name!r} {times} (lines {', '.join(lines)}{', ...' if has_more else ''}). "
        "Nothing was changed; include more of the surrounding lines"
    )


def _describe_similar(text: str, old: str) -> str:
    """The lines that are most similar to `old`, for the model."""
    if len(text) + len(old) > MOST_SEARCHED:
        return "read_file shows the file"
    lines, old_lines = lines_of(text), lines_of(old)
    first = _find_similar(lines, old_lines)
    if first is None:
        return "No line in it is similar; read_file shows the file"
    similar = "".join(lines[first : first + len(old_lines)])
    has_same_words = "".join(similar.split()) == "".join(old.split())
    difference = " (only white space differs)" if has_same_words else ""
    last = min(first + len(old_lines), len(lines))
    if len(similar) > EXCERPT_CHARACTERS:
        similar = similar[:EXCERPT_CHARACTERS] + "..."
    return f"The most similar lines are {first + 1} to {last}{difference}:\n{similar}"


def _find_similar(lines: list[str], old_lines: list[str]) -> int | None:
    """The index of the first of the most similar lines; None if no line has half of its words in
    common with the longest old line. Linear in the length of the texts."""
    words = [set(_WORD.findall(line)) for line in lines]
    old_words = [set(_WORD.findall(line)) for line in old_lines]
    anchor = max(range(len(old_words)), key=lambda index: len(old_words[index]))
    scores = [_similarity(line_words, old_words[anchor]) for line_words in words]
    best = max(range(len(scores)), key=scores.__getitem__, default=0)
    if not scores or scores[best] < LEAST_SIMILARITY:
        return None
    return max(0, best - anchor)


def _similarity(first: set[str], second: set[str]) -> float:
    common = len(first & second)  # takes the time of the smaller set
    return common / (len(first) + len(second) - common) if first and second else 0.0
