"""The settings, errors, reasons and messages that docs/troubleshooting.md quotes exist in
the code.
"""

from __future__ import annotations

import re

from support.cases.markdown_pages import REPOSITORY

from api import problems
from jobs.model.record import Reason
from settings.__main__ import page as configuration

PAGE = (REPOSITORY / "docs" / "troubleshooting.md").read_text()


def test_every_setting_exists() -> None:
    variables = set(re.findall(r"FETTLE_[A-Z_]+", PAGE)) - {"FETTLE_WORKER_MEMORY"}
    assert not [name for name in variables if f"`{name}`" not in configuration()]


def test_every_error_of_the_api_exists_with_its_status() -> None:
    quoted = re.findall(r"^\| (\d{3}) `([a-z-]+)`", PAGE, re.MULTILINE)
    assert quoted
    assert not [
        (status, name) for status, name in quoted if problems.KINDS[name].status != int(status)
    ]


def test_every_reason_is_explained() -> None:
    explained = set(re.findall(r"^\| `failed`: `(\w+)`", PAGE, re.MULTILINE))
    told_elsewhere = {Reason.REJECTED, Reason.INCOMPATIBLE}
    assert explained == set(Reason) - told_elsewhere
