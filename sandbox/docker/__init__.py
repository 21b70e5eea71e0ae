"""The backend `docker`: sandboxes are single-use containers of a Docker engine, near or far."""

from sandbox.docker.address import Tls
from sandbox.docker.backend import DockerSandbox

__all__ = ["DockerSandbox", "Tls"]
