"""The backend `local`: sandboxes on this machine, without a daemon and without root."""

from sandbox.local.backend import LocalSandbox

__all__ = ["LocalSandbox"]
