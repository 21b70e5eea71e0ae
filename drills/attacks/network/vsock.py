"""Speaks to the hypervisor, past every network namespace: vsock."""

from __future__ import annotations

from drills.attacks.steps.families import refused

ATTACK = refused({"AF_VSOCK": 40}, "AF_VSOCK")
