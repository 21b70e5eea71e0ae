"""The backend `local`: sandboxes on this machine, without a daemon, root or network."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sandbox import policy, trees
from sandbox.backend import PooledSandbox, run_once
from sandbox.isolation_layers import local_layers
from sandbox.local.client import LocalSession
from sandbox.local.stepdown import give_to_sandbox_user
from sandbox.pool import Pool
from sandbox.protocol import DEFAULT_LIMITS, IsolationLayer, Limits


class LocalSandbox(PooledSandbox[LocalSession]):
    """Runs each command in a new sandbox; implements `protocol.Sandbox`.

    The supervisor starts with the first run, and again after it has died. Create this after a fork,
    not before: a child that inherits its socket would keep the sandboxes alive.
    """

    def __init__(
        self,
        python: Path,
        *,
        pool_size: int = 2,
        bwrap: Path | None = None,
        uid: int = policy.HOST_UID,
        rotation: int = policy.ROTATION_SANDBOXES,
        cpus: float | None = None,
        own_interpreter: bool = False,
        private: Iterable[Path] = (),
        programs: Iterable[str] = (),
        trees_directory: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        overlays: bool = True,
    ) -> None:
        """
        Args:
            python: The interpreter of the code (`.venv/sandbox/bin/python`).
            pool_size: The number of sandboxes that are kept ready. They fit runs with `limits`, and
                with other limits of the same workspace size. 0: make each one when a run needs it.
            bwrap: The bubblewrap to use; None: the system's.
            uid: The uid of a supervisor that is started as root.
            rotation: The number of sandboxes after which the zygote is replaced.
            cpus: How many processors (also a fraction) a run may use, if there are control groups.
            own_interpreter: Start a new interpreter for each run, not a copy of the zygote.
            private: If code could read one of these paths, no run starts.
            programs: Names of programs of this machine that code finds, in addition to
                `sandbox.programs`.
            trees_directory: The directory of the trees that commands may name. Each tree was given
                to the user of the sandboxes (`stepdown.give_to_sandbox_user`).
            overlays: Begin a run with an overlay of its trees. If this kernel mounts none, or with
                False (for tests), a run begins with a copy.
        """
        directory = None if trees_directory is None else trees_directory.absolute()
        super().__init__(pool_size, limits, directory)
        self._own_interpreter = own_interpreter
        self._private = tuple(map(os.path.realpath, private))
        self._programs = tuple(programs)
        self._python, self._bwrap, self._uid = python.absolute(), bwrap, uid
        self._rotation, self._cpus, self._overlays = rotation, cpus, overlays
        self._overlay_fault = ""

    async def _start_session(self) -> LocalSession:
        directory = self._prepare_trees_directory(
            lambda tree: give_to_sandbox_user(tree, self._uid)
        )
        session = LocalSession(self._cpus, own_interpreter=self._own_interpreter)
        try:
            await session.open(
                self._python,
                self._bwrap,
                self._uid,
                self._rotation,
                self._private,
                self._programs,
                directory,
            )
        except BaseException:
            await session.close()
            raise
        if reason := session.facts["no_trees"]:
            self._trees_fault = f"the directory of trees, {directory}, cannot be used: {reason}"
        return session

    async def _try_session(self, session: LocalSession, pool: Pool) -> None:
        """Choose how runs of this session begin with trees: with an overlay if the trial succeeds
        with an overlay, or else with a copy if the trial succeeds with a copy.
        """

        async def run_trial() -> str | None:
            return await trees.run_trial(
                lambda: run_once(session, pool, trees.TRIAL_COMMAND, self._limits)
            )

        if self._trees_directory is None or self._trees_fault:
            return
        self._overlay_fault = (await run_trial() if self._overlays else "none is wanted") or ""
        if self._overlay_fault:
            session.copies_trees = True
            session.copies_trees = await run_trial() is None

    def _describe_tree_mode(self, session: LocalSession) -> str:
        if session.copies_trees:
            return f"{trees.COPIES}. No overlay can be mounted: {self._overlay_fault}"
        return trees.OVERLAY

    def _isolation_layers(
        self, session: LocalSession, probe_output: str
    ) -> tuple[IsolationLayer, ...]:
        return local_layers(probe_output, session.facts)
