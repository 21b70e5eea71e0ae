"""Tree: the files with which a sandbox starts."""

from __future__ import annotations

from agents.tree import Tree
from sandbox.protocol import Command

TREE = Tree({"a.py": b"1", "b.py": b"2"}, ("base",), frozenset({"gone.py", "old.py"}))


def test_changes_replace_files_and_restore_removed_files() -> None:
    assert TREE.over({"a.py": b"3", "gone.py": b"4"}) == Tree(
        {"a.py": b"3", "b.py": b"2", "gone.py": b"4"}, ("base",), frozenset({"old.py"})
    )
    assert TREE.over({}) == TREE


def test_a_command_has_every_file_of_the_tree() -> None:
    command = TREE.command(("python", "a.py"), b"in")
    assert command == Command(
        ("python", "a.py"), TREE.files, b"in", trees=TREE.layers, removed=TREE.removed
    )
