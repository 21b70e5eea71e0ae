"""Names one large file nine hundred times: little to keep, gigabytes to collect."""

from __future__ import annotations

from typing import Any

from drills.attacks.attack import Attack
from drills.attacks.steps.careless import careless
from drills.attacks.steps.homecoming import came_home, homecoming
from drills.attacks.steps.secrets import holds


def probe(given: dict[str, Any]) -> str | None:
    import os

    with open("honest.txt", "w") as file:
        file.write("honest work\n")
    with open("x-0.bin", "wb") as file:
        file.write(bytes(given["each"]))
    for number in range(1, 900):
        os.link("x-0.bin", f"x-{number}.bin")
    return careless(given)


ATTACK = Attack(
    probe,
    expects="each name counts in full, and the total holds",
    given={"each": 16 << 20, "comes": ["honest.txt"]},
    uses=(holds, careless),
    drive=homecoming,
    judge=came_home,
)
