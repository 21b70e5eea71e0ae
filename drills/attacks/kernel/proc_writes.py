"""Opens for writing whatever it can of `/proc`: core_pattern, sysrq-trigger, all of `/proc/sys`."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack, Bare


def probe(given: dict[str, Any]) -> str | None:
    import os
    import stat

    # Opened and closed, nothing is written. Not asked: processes; what is mounted by being looked
    # at; and what anyone may open, where the kernel asks for rights at the write.
    anyones = {"/proc/sys/kernel/ns_last_pid"}
    passed = []
    for folder, folders, names in os.walk("/proc"):
        if folder == "/proc":
            folders[:] = [each for each in folders if not each.isdigit()]
        for name in ("self", "thread-self", "binfmt_misc", "pressure"):
            if name in folders:
                folders.remove(name)
        for path in (f"{folder}/{name}" for name in names):
            try:
                if not stat.S_ISREG(os.lstat(path).st_mode) or path in anyones:
                    continue
                os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                passed.append(path)
            except OSError:
                continue
    return f"{len(passed)} files, such as {', '.join(passed[:3])}" if passed else None


ATTACK = Attack(
    probe,
    expects="none of them opens for writing",
    # So that root of a user namespace has something of its own there: its network's settings.
    control=Bare(root=True, within=("--net",)),
)
