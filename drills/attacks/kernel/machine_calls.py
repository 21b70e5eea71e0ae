"""Acts on the machine as a whole: swap, accounting, quotas, host name, kernel log, its disks."""

from __future__ import annotations

from drills.attacks.attack import Bare
from drills.attacks.steps.knocks import Knock, knocking

NOWHERE = "/nonexistent/fettle"

ATTACK = knocking(
    Knock("swapon", 167, 224, (NOWHERE, -1)),  # unknown flags
    Knock("swapoff", 168, 225, (NOWHERE,)),
    Knock("acct", 163, 89, (NOWHERE,)),
    Knock("quotactl", 179, 60, (0xFF, NOWHERE, 0, 0)),  # no such kind of quota
    Knock("quotactl_fd", 443, 443, (-1, 0, 0, 0)),
    Knock("sethostname", 170, 161, (0, -1)),  # a negative length
    Knock("setdomainname", 171, 162, (0, -1)),
    Knock("syslog", 103, 116, (99, 0, 0)),  # no such function
    Knock("syncfs", 306, 267, (-1,)),
    expects="each is refused before the kernel looks at it",
    control=Bare(root=True, within=("--uts",)),
)
