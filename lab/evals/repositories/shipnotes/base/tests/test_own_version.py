import subprocess
import sys
from pathlib import Path

import pytest

from shipnotes.own_version import UNKNOWN, own_version, version_of


@pytest.mark.parametrize(
    ("described", "version"), [("v1.4.2-0-gabc", "1.4.2"), ("v1.4.2-3-gabc", "1.4.3.dev3")]
)
def test_of_a_description(described, version):
    assert version_of(described) == version


def test_of_this_clone():
    assert own_version() == "1.4.3.dev1"


def test_outside_of_a_clone(tmp_path):
    assert own_version(tmp_path) == UNKNOWN


def test_the_program_says_it():
    command = [sys.executable, "-m", "shipnotes", "--version"]
    root = Path(__file__).parent.parent
    said = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "1.4.3.dev1"
