"""Which process owns a container, and when the container has lost its worker."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from sandbox.docker import garbage_collection
from sandbox.docker.garbage_collection import ABANDONED_SECONDS, Owner, is_abandoned

ME = Owner("me", "boot-1 pid:[1]", "77 100")


def dead(_: str) -> bool:
    return False


def alive(_: str) -> bool:
    return True


def test_containers_of_this_process_are_never_leftovers() -> None:
    assert not is_abandoned(ME.labels, 10 * ABANDONED_SECONDS, ME, dead)


def test_containers_of_a_dead_process_of_this_machine_are_leftovers() -> None:
    other_owner = replace(ME, id="other", process="78 100")
    assert is_abandoned(other_owner.labels, 0.0, ME, dead)
    assert not is_abandoned(other_owner.labels, 10 * ABANDONED_SECONDS, ME, alive)


def test_containers_of_another_machine_become_leftovers_after_the_longest_use() -> None:
    other_owner = replace(ME, id="other", machine="boot-2 pid:[1]")
    assert not is_abandoned(other_owner.labels, ABANDONED_SECONDS - 1, ME, dead)
    assert is_abandoned(other_owner.labels, ABANDONED_SECONDS + 1, ME, alive)


def test_containers_with_unknown_labels_become_leftovers_after_a_time() -> None:
    assert not is_abandoned({"fettle.sandbox": "x"}, 0.0, ME, dead)


def test_a_process_is_identified_by_its_pid_and_start_time() -> None:
    own_owner = garbage_collection.current_owner()
    assert garbage_collection.is_alive(own_owner.process)
    assert not garbage_collection.is_alive(f"{os.getpid()} 1")
    assert not garbage_collection.is_alive("")
    assert not garbage_collection.is_alive("../self 1")
    assert garbage_collection.current_owner().id != own_owner.id


def test_a_process_that_has_ended_is_dead_before_it_is_reaped() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        since = garbage_collection.read_start_time(process.pid)
        assert garbage_collection.is_alive(f"{process.pid} {since}")
        process.communicate(b"\n")
        assert not garbage_collection.is_alive(f"{process.pid} {since}")
