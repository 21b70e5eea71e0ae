"""The backend `local`: sandboxes on this machine. No daemon, no root, no network."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from sandbox import layered_trial, policy
from sandbox.backend import PooledSandbox, run_once
from sandbox.layers import layers
from sandbox.local.client import LocalSession
from sandbox.local.stepdown import give
from sandbox.pool import Pool
from sandbox.protocol import DEFAULT_LIMITS, Layer, Limits


class LocalSandbox(PooledSandbox[LocalSession]):
    """Runs each command in a sandbox of its own; implements `protocol.Sandbox`.

    `python` is the interpreter for the code (`.venv/sandbox/bin/python`), `pool_size` the number of
    sandboxes that stand ready (0: each is made when it is asked for) for runs with `limits`, which
    differ in no size of the workspace, `bwrap` another bubblewrap
    than the system's, `uid` what a supervisor that starts as root becomes, `rotation` the number of
    sandboxes after which the zygote is replaced, `cpus` how many processors (a fraction, too) a run
    may keep busy where there are control groups. `own_interpreter` has each run start an
    interpreter instead of taking a copy of the zygote's. Where a `private` path lies in a tree that
    code sees, no run is made. `programs` are names of this machine's programs that code finds
    beside those of `sandbox.programs`. Below the directory `layers` are those that commands may
    name; each was given to the user that sandboxes are outside (`stepdown.give`). A run begins with
    an overlay of its layers, or with a copy where this kernel mounts none (or, for tests, without
    `overlays`).

    The supervisor starts with the first run, and again where it has died. Make this after a fork,
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
        layers: Path | None = None,
        limits: Limits = DEFAULT_LIMITS,
        overlays: bool = True,
    ) -> None:
        super().__init__(pool_size, limits, None if layers is None else layers.absolute())
        self._own_interpreter = own_interpreter
        self._private = tuple(map(os.path.realpath, private))
        self._programs = tuple(programs)
        self._python, self._bwrap, self._uid = python.absolute(), bwrap, uid
        self._rotation, self._cpus, self._overlays = rotation, cpus, overlays
        self._no_overlay = ""

    async def _start(self) -> LocalSession:
        layers = self._prepared_layers(lambda layer: give(layer, self._uid))
        session = LocalSession(self._cpus, own_interpreter=self._own_interpreter)
        try:
            await session.open(
                self._python,
                self._bwrap,
                self._uid,
                self._rotation,
                self._private,
                self._programs,
                layers,
            )
        except BaseException:
            await session.close()
            raise
        if why := session.facts["no_layers"]:
            self._no_layers = f"the directory of layers, {layers}, cannot be used: {why}"
        return session

    async def _try_out(self, session: LocalSession, pool: Pool) -> None:
        """Choose how runs of this session begin with layers: with an overlay where one works, else
        with a copy where that does.
        """

        async def fault() -> str | None:
            return await layered_trial.fault(
                lambda: run_once(session, pool, layered_trial.COMMAND, self._limits)
            )

        if self._layers_at is None or self._no_layers:
            return
        self._no_overlay = (await fault() if self._overlays else "none is wanted") or ""
        if self._no_overlay:
            session.copies = True
            session.copies = await fault() is None

    def _way(self, session: LocalSession) -> str:
        if session.copies:
            return f"{layered_trial.COPIES}. No overlay can be mounted: {self._no_overlay}"
        return layered_trial.OVERLAY

    def _layers(self, session: LocalSession, found: str) -> tuple[Layer, ...]:
        return layers(found, session.facts)
