"""`fettle chaos` and `fettle attack` run a drill in a separate process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from lab.commands import attack, chaos
from lab.commands.drill_process import drill_arguments
from lab.drills.attacks.__main__ import main as attacks_main
from lab.drills.chaos.__main__ import main as chaos_main

DRILL = """
import pathlib, signal, sys, time
def clear_up(*_):
    pathlib.Path(sys.argv[1]).write_text("cleared up")
    sys.exit(0)
signal.signal(signal.SIGTERM, clear_up)
print("ready", flush=True)
time.sleep(20)
"""
COMMAND = """
import sys
from cli.signals import StoppedBySignal
from lab.commands.drill_process import run_drill
try:
    run_drill("slow_drill", sys.argv[1:])
except StoppedBySignal as stopped:
    sys.exit(stopped.exit_code)
"""


def test_a_signal_ends_the_command_and_its_drill_which_cleans_up(tmp_path: Path) -> None:
    report = tmp_path / "report"
    (tmp_path / "slow_drill.py").write_text(DRILL)
    with subprocess.Popen(
        [sys.executable, "-c", COMMAND, str(report)],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        stdout=subprocess.PIPE,
        text=True,
    ) as command:
        assert command.stdout is not None
        assert command.stdout.readline() == "ready\n"
        command.send_signal(signal.SIGTERM)
        assert command.wait(10) == 128 + signal.SIGTERM
    assert report.read_text() == "cleared up"


CHAOS = ("--minutes=2.0", "--seed=7", "--lease=2.0", "--sweep=0.5", "--slack=2.0", "--keep=logs")


@pytest.mark.parametrize(
    ("command", "drill", "arguments", "expected"),
    [
        (chaos.command, chaos_main, ["--minutes", "2", "--seed=7", "--keep", "logs"], CHAOS),
        (chaos.command, chaos_main, ["--minutes=2", "--seed=7", "--keep=logs", "--json"],
         (*CHAOS, "--json")),
        (attack.command, attacks_main, [], ()),
        (attack.command, attacks_main,
         ["--backend", "local", "--backend", "docker", "--only", "network/*", "--own-engine"],
         ("--backend=local", "--backend=docker", "--only=network/*")),
    ],
)  # fmt: skip
def test_a_drill_gets_the_options_of_its_command(
    command: click.Command, drill: click.Command, arguments: list[str], expected: tuple[str, ...]
) -> None:
    passed_on = drill_arguments(command.make_context("fettle", arguments), ("own_engine",))
    assert passed_on == list(expected)
    drill.make_context("drill", passed_on)  # raises UsageError if the drill lacks an option
