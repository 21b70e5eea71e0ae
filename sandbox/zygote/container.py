"""The entry point of a sandbox in a container: the container's own streams are the control channel.

Libraries may print to standard output while they are loaded, so the control channel moves to other
descriptors first. No program that the agent starts inherits these.
"""

# ruff: noqa: PTH103, PTH112, PTH123, PTH208

from __future__ import annotations

import os
import signal

from sandbox.agent import code_process, landlock, serve
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.workspace import WorkTrees, copy_trees

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sandbox.zygote.interpreter import ServeOrder

FONTS = "/agent/fonts"
CONTEXT = "/agent/context"


def prepare_agent(
    *, load: bool, trees: str | None, proxy_port: int
) -> tuple[serve.AgentContext, ServeOrder]:
    """Prepare the agent of this container (`interpreter.PrepareAgent`).

    `load`: load the usual libraries before the sandbox is ready; without, the sandbox is ready
    earlier, which is quicker if an order waits already. `trees`: the directory that is copied to
    `/work`. `proxy_port`: relays take connections to this port to the caller; 0: no proxy.
    """
    control = _take_control()
    context = _read_context()
    if load:
        from sandbox.zygote import preload  # noqa: PLC0415

        preload.load()
    # The agent is the container's init: the kernel delivers it only signals that it handles.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    landlock.restrict()
    serve.harden()
    if proxy_port:
        from sandbox.zygote import relay  # noqa: PLC0415

        relay.listen(proxy_port, control)
    copied = None if trees is None else _copy_trees(trees)
    monitor = ResourceMonitor()

    def serve_order(waiting: code_process.WaitingProcess) -> None:
        serve.serve(*control, context, waiting, monitor, copied)

    return context, serve_order


def _take_control() -> tuple[int, int]:
    """Take standard input and output as the control channel; the null device replaces them."""
    control = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(null, fd)
    os.close(null)
    return control


def _copy_trees(directory: str) -> WorkTrees:
    trees = WorkTrees((), is_copy=True)
    trees.original = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    copy_trees(trees, code_process.WORK)
    return trees


def _read_context() -> serve.AgentContext:
    """Read the agent's context from the image, and set its environment. Copies matplotlib's font
    cache to a writable directory, because matplotlib warns about a read-only one.
    """
    context = serve.AgentContext.read(CONTEXT)
    os.environ.clear()  # the engine has added variables of its own
    os.environ.update(context.env)
    font_cache = context.env["MPLCONFIGDIR"]
    os.makedirs(font_cache, exist_ok=True)
    for name in os.listdir(FONTS) if os.path.isdir(FONTS) else ():
        with open(f"{FONTS}/{name}", "rb") as source, open(f"{font_cache}/{name}", "wb") as file:
            file.write(source.read())
    return context
