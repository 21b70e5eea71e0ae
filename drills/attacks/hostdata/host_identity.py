"""Learns which machine it is on: host name, machine id, serial numbers, network addresses."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drills.attacks.attack import Attack
from drills.attacks.outcome import Observation

if TYPE_CHECKING:
    from drills.attacks.context import Context


def probe(given: dict[str, Any]) -> str | None:
    import os
    import socket

    if given["host"] in (os.uname().nodename, socket.gethostname()):
        return f"the host's name, {given['host']}"
    for path in given["paths"]:
        try:
            with open(path, "rb") as file:
                text = file.read(256).decode(errors="replace").strip()
        except OSError:
            continue
        if text in given["identities"]:
            return f"the host's own {path}"
        if path.startswith(("/sys/", "/proc/device-tree")) and text.strip("0:-"):
            return f"{path} says {text!r}"
    return None


_IDS = (
    *("/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostname", "/proc/sys/kernel/hostname"),
    "/proc/sys/kernel/random/boot_id",
)
_DMI = (
    "product_uuid",
    "product_serial",
    "board_serial",
    "chassis_serial",
    "product_name",
    "sys_vendor",
)
_MORE = ("/proc/device-tree/serial-number", "/sys/hypervisor/uuid")


def _told() -> dict[str, Any]:
    paths = [*_IDS, *(f"/sys/class/dmi/id/{name}" for name in _DMI), *_MORE]
    paths += [f"/sys/class/net/{name}/address" for name in ("eth0", "ens3", "lan0", "docker0")]
    known = [Path(each).read_text().strip() for each in _IDS if Path(each).exists()]
    identities = [each for each in known if each]
    return {"host": os.uname().nodename, "paths": paths, "identities": identities}


async def drive(context: Context) -> Observation:
    return await context.run(given=_told())


ATTACK = Attack(
    probe,
    expects="a name that all rooms share, and nothing else",
    drive=drive,
)
