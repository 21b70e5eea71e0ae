"""Tree: the files that a sandbox starts with, as the workspace passes them on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sandbox.protocol import Command


@dataclass(frozen=True, slots=True)
class Tree:
    """`files` and `links` over the union of the `layers`, without the paths `removed`."""

    files: Mapping[str, bytes] = field(default_factory=dict)
    """All files of a job without a repository; with a repository, only the changed files."""
    layers: tuple[str, ...] = ()
    """Read-only directory trees on the worker's machine, by the names that the sandbox uses."""
    removed: frozenset[str] = frozenset()
    installed: tuple[str, ...] = ()
    """Directory trees of a project's dependencies. Programs find them, but tools that read files do
    not show them (`agents.runs.program.execute`)."""
    executable: Mapping[str, bool] = field(default_factory=dict)
    """Which of `files` can be executed, if that differs from the default
    (`sandbox.protocol.Command.executable`)."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links: targets by path."""

    def over(self, changes: Mapping[str, bytes]) -> Tree:
        """This tree with `changes` in place of its files of the same paths."""
        if not changes:
            return self
        links = {path: target for path, target in self.links.items() if path not in changes}
        files = {**self.files, **changes}
        return replace(self, files=files, links=links, removed=self.removed - set(changes))

    def command(self, argv: tuple[str, ...], stdin: bytes = b"") -> Command:
        """A command that starts in this tree."""
        modes = {path: mode for path, mode in self.executable.items() if path in self.files}
        return Command(
            argv,
            self.files,
            stdin,
            trees=self.layers,
            removed=self.removed,
            executable=modes,
            links=self.links,
        )
