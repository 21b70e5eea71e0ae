"""Texts by their lines. Pure.

A line ends with a line feed, and with nothing else that `str.splitlines` knows: what a program's
traceback or a diff calls line 12 must be line 12 here.
"""

from __future__ import annotations


def lines_of(text: str) -> list[str]:
    """The lines with their ends; the last may have none. A carriage return stays with its line."""
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def excerpt(text: str, first: int, count: int | None, width: int) -> str | None:
    """Lines of `text` from number `first` (from 1), `count` of them or all, within about `width`
    characters; with a note of how much there is where it is not all. None behind the end.
    """
    if first == 1 and count is None and len(text) <= width:
        return text
    lines = lines_of(text)
    if first > len(lines):
        return None if lines or first > 1 else ""
    wanted = lines[first - 1 : None if count is None else first - 1 + count]
    shown = fitting(wanted, width)
    if not shown:
        whole = wanted[0]
        return (
            f"[line {first} of {len(lines)} has {len(whole)} characters; these are the first "
            f"{width}]\n{whole[:width]}"
        )
    last = first + len(shown) - 1
    more = f"; go on with offset={last + 1}" if last < len(lines) else ""
    return f"[lines {first} to {last} of {len(lines)}{more}]\n{''.join(shown)}"


def fitting(lines: list[str], width: int) -> list[str]:
    """As many of the lines, from the first on, as `width` characters have room for."""
    room = width
    for number, line in enumerate(lines):
        room -= len(line)
        if room < 0:
            return lines[:number]
    return lines
