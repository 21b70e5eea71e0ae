"""The backend `docker`: sandboxes are single-use containers of a Docker engine, here or remote.

backend             DockerSandbox, for callers; its isolation layers
session             one engine in use: makes, watches and removes containers
container, relays   one container of a run, and the connections of its proxy
profile             the policy of a container: see also `sandbox/policy.py`
engine              the calls of the engine's API
exchange            HTTP requests to the engine; connection: the address, and its streams
image, tree_images  the sandboxes' image, and images with directory trees
garbage_collection  which containers belong to workers that have ended
runtime_trial       a self-test for runtimes other than the engine's own
image_build         builds the image; packing, bundled_fonts: its files
"""

from sandbox.docker.backend import DockerSandbox
from sandbox.docker.connection import TlsFiles

__all__ = ["DockerSandbox", "TlsFiles"]
