"""The backend `local`: sandboxes on this machine, without a daemon and without root.

backend             LocalSandbox, for callers
client              the worker's side of the supervisor's messages
supervisor          the process that owns the sandboxes of one worker; its messages
supervisor_process  starts and reaps that process
factory, zygote     make sandboxes and the zygotes that they are copied from
base_container      the container of a zygote: its files and bubblewrap's command line
host, stepdown      find the host's parts of a sandbox; become an unprivileged user
remedies            advice to the operator after an error
cgroups/            a control group for each sandbox
"""

from sandbox.local.backend import LocalSandbox

__all__ = ["LocalSandbox"]
