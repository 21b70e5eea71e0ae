"""The error for a missing library of a provider; and the images contain the library of every
provider.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from agents.errors import ModelNotConfigured
from agents.models.build import ready
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.providers import PROVIDERS
from agents.models.role_models import Chains
from agents.spending.pricing import Prices
from worker.background.announcement import model_catalogue

ROOT = Path(__file__).parents[3]
NAME = "anthropic:claude-sonnet-5"
OPTIONS = ModelOptions(api_keys={"anthropic": "k"})


@pytest.fixture(autouse=True)
def absent(monkeypatch: pytest.MonkeyPatch) -> None:
    without = replace(PROVIDERS["anthropic"], package="langchain_of_nowhere")
    monkeypatch.setitem(PROVIDERS, "anthropic", without)  # type: ignore[misc]


def test_a_missing_library_is_reported_with_the_command_that_installs_it() -> None:
    command = f"{sys.executable} -m pip install 'fettle[anthropic]'"
    with pytest.raises(ModelNotConfigured) as raised:
        ready(ModelName.parse(NAME), OPTIONS)
    words = f"a library; install it with: {command}"
    assert str(raised.value) == f"{NAME} needs {words}"
    catalogue = model_catalogue(Chains((NAME,)), OPTIONS, Prices())
    assert [entry["missing"] for entry in catalogue["offered"]] == [words]
    missing = {entry["name"]: entry["missing"] for entry in catalogue["providers"]}
    assert missing["anthropic"] == words


def test_the_images_have_the_library_of_every_provider() -> None:
    """An image contains only the packages of images.lock."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    locked = set(
        re.findall(r"^([\w.-]+)==", (ROOT / "requirements/images.lock").read_text(), re.MULTILINE)
    )
    locked_extras = re.search(
        r"^extras=\((.*)\)$", (ROOT / "deploy/lock.sh").read_text(), re.MULTILINE
    )
    assert locked_extras is not None
    provider_extras = {provider.extra for provider in PROVIDERS.values() if provider.extra}
    assert provider_extras < set(locked_extras[1].split())
    assert {Requirement(line).name for extra in provider_extras for line in extras[extra]} <= locked
