"""Which unchanged files the work reads, by the names that occur in its texts. Pure.

A file counts as read if its path, its unique name, or its module occurs in the task, the answer,
the code or a command. The critic sees such a file; the others are listed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from langchain_core.messages import AIMessage, BaseMessage

_WORD = re.compile(r"[\w./+-]+")
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+\(?([\w, \t]+))?", re.MULTILINE
)
_ROOTS = ("", "src/", "lib/")
_ENDS = (".py", "/__init__.py")


def files_read(paths: Collection[str], texts: Iterable[str]) -> list[str]:
    """Those of `paths` that the `texts` name, sorted."""
    words, modules = set[str](), set[str]()
    for text in texts:
        words.update(_path_of(word) for word in _WORD.findall(text))
        modules.update(_modules(text))
    names = Counter(path.rpartition("/")[2] for path in paths)
    imported = {f"{root}{module}{end}" for root in _ROOTS for module in modules for end in _ENDS}
    return sorted(
        path
        for path in paths
        if path in words or path in imported or _is_named(path.rpartition("/")[2], words, names)
    )


def _path_of(word: str) -> str:
    return word.rstrip(".-/").removeprefix("./").removeprefix("/work/")


def _is_named(name: str, words: set[str], names: Counter[str]) -> bool:
    return name in words and names[name] == 1


def _modules(text: str) -> Iterable[str]:
    """The modules that Python code may import, as paths without an end."""
    for match in _IMPORT.finditer(text):
        module = match[1].strip(".").replace(".", "/")
        yield module
        for name in (match[2] or "").split(","):
            yield f"{module}/{name.strip()}".strip("/")


def paths_read(messages: Sequence[BaseMessage]) -> list[str]:
    """The paths of the calls of `read_file` in a conversation."""
    calls = (call for each in messages if isinstance(each, AIMessage) for call in each.tool_calls)
    return [str(call["args"].get("path", "")) for call in calls if call["name"] == "read_file"]
