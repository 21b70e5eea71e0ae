"""The tool `view_image`. The image itself follows the tool's answer in each request of the pass to
a model that takes images (`agents.executor.viewed_images`)."""

from __future__ import annotations

from agents.attempt import Ports
from agents.errors import ToolRefused
from agents.history import this_pass, traces
from agents.links import explain_missing, locate
from agents.paths import in_workspace
from agents.prompts.images import why_not_shown
from agents.tools.call import Answer, Runtime
from agents.tools.trace import of_use

VIEW_IMAGE = "view_image"
MOST_VIEWED = 8
"""In one pass: every later request of the pass has the images again."""


async def view_image(path: str, runtime: Runtime) -> Answer:
    """Look at an image, such as a saved plot: a PNG or JPEG file."""
    ports: Ports = runtime.context
    name = in_workspace(path)
    content = await ports.workspace.read(locate(ports.workspace, path))
    if content is None:
        raise ToolRefused(explain_missing(ports.workspace, path))
    if problem := why_not_shown(content):
        raise ToolRefused(f"{name!r} cannot be shown: {problem}")
    viewed = traces(this_pass(runtime.state["messages"]))
    if sum("image" in trace for trace in viewed) >= MOST_VIEWED:
        raise ToolRefused(f"{MOST_VIEWED} images have been viewed, which is the limit")
    trace = of_use(VIEW_IMAGE, name, ok=True)
    trace["image"] = await ports.workspace.keep(content)
    return f"The image {name} follows.", trace
