"""Reads what `/proc` tells of the whole machine: its command line, keys, timers, kernel symbols."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack

TELLING = (
    *(
        "/proc/cmdline",
        "/proc/keys",
        "/proc/timer_list",
        "/proc/sched_debug",
        "/proc/latency_stats",
    ),
    *(
        "/proc/interrupts",
        "/proc/slabinfo",
        "/proc/vmallocinfo",
        "/proc/acpi/wakeup",
        "/proc/scsi/scsi",
    ),
    *("/sys/firmware/acpi/tables/DSDT", "/sys/kernel/debug/kprobes/list", "/sys/kernel/notes"),
    *("/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj", "/proc/pagetypeinfo"),
)
ADDRESSES = ("/proc/kallsyms", "/proc/modules", "/proc/iomem")
ACTING = ("/proc/sysrq-trigger", "/proc/latency_stats", "/proc/mtrr", "/proc/timer_stats")


def probe(given: dict[str, Any]) -> str | None:
    import os
    import re

    for path in given["telling"]:
        try:
            with open(path, "rb") as file:
                if data := file.read(4096):
                    return f"{path}: {data[:60]!r}"
        except OSError:
            continue
    for path in given["addresses"]:
        try:
            with open(path) as file:
                if re.search(r"\b(0x)?[0-9a-f]*[1-9a-f][0-9a-f]{7,}\b", file.read(1 << 16)):
                    return f"addresses of the kernel in {path}"
        except OSError:
            continue
    null = os.stat("/dev/null").st_rdev
    for path in given["acting"]:
        try:
            opened = os.open(path, os.O_WRONLY)  # nothing is written
        except OSError:
            continue
        if os.fstat(opened).st_rdev != null:
            return f"{path} open for writing"
    return None


ATTACK = Attack(
    probe,
    expects="such files are absent, or masked and empty",
    given={"telling": TELLING, "addresses": ADDRESSES, "acting": ACTING},
)
