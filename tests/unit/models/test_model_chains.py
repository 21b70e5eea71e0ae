"""Which models serve which role."""

from __future__ import annotations

from typing import cast, get_args

import pytest

from agents.errors import ModelNotConfigured
from agents.models.name import ModelName
from agents.models.pool import ModelPool
from agents.models.providers import PROVIDERS
from agents.models.role_models import Chains
from agents.ports import Role
from agents.ports.spending import Usage
from agents.spending.pricing import Prices
from api.schemas.job_defaults import ROLES, JobDefaults
from jobs.model.spec import JobSpec
from settings.api import ApiSettings
from settings.models import ModelSettings
from settings.worker import WorkerSettings
from worker.adapters.models import chains, models_of

CHAINS = Chains(
    default=("groq:a", "google_genai:b"),
    by_role={"critic": ("groq:c",)},
    stronger={"executor": ("groq:big", "google_genai:bigger")},
)


def test_a_role_without_a_chain_has_the_default() -> None:
    assert CHAINS.of("executor") == CHAINS.of("planner") == ("groq:a", "google_genai:b")
    assert CHAINS.of("critic") == ("groq:c",)


def test_a_stronger_model_comes_first_and_weaker_models_replace_it() -> None:
    first, last = CHAINS.of("executor", 1), CHAINS.of("executor", 2)
    assert first == ("groq:big", "groq:a", "google_genai:b")
    assert last == ("google_genai:bigger", "groq:big", "groq:a", "google_genai:b")
    assert (CHAINS.levels("executor"), CHAINS.levels("critic")) == (3, 1)


def test_the_models_of_a_job_come_before_those_of_the_worker() -> None:
    pool = cast("ModelPool", None)  # no model is called
    roles = {"critic": ("groq:judge", "groq:b")}
    named = models_of(pool, JobSpec("x", model="groq:m", role_models=roles), CHAINS)
    assert named.chain("critic") == ("groq:judge", "groq:b")
    assert (named.chain("executor", 2), named.levels("executor")) == (("groq:m",), 1)
    for model in (None, "auto"):
        other = models_of(pool, JobSpec("x", model=model, role_models=roles), CHAINS)
        assert other.chain("critic") == ("groq:judge", "groq:b")
        assert (other.chain("planner"), other.levels("executor")) == (CHAINS.default, 3)
    assert models_of(pool, JobSpec("x"), CHAINS).chains == CHAINS


def test_each_role_has_a_default_and_a_setting() -> None:
    assert get_args(Role) == ROLES
    fields = {f"{role}_model" for role in ROLES}
    assert fields <= JobDefaults.model_fields.keys() & ModelSettings.model_fields.keys()


def test_without_any_setting_the_error_names_the_settings() -> None:
    with pytest.raises(ModelNotConfigured, match="the tester: set GROQ_API_KEY"):
        Chains().of("tester")


def test_the_environment_names_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_MODEL", "groq:a, google_genai:b,")
    monkeypatch.setenv("FETTLE_CRITIC_MODEL", "")
    monkeypatch.setenv("FETTLE_EXECUTOR_ESCALATION", "groq:big,google_genai:bigger")
    configured = chains(ModelSettings())
    assert configured.of("critic") == ("groq:a", "google_genai:b")
    assert configured.of("executor", 2)[:2] == ("google_genai:bigger", "groq:big")
    assert configured.of("summary") == configured.default


def test_without_a_model_only_the_first_provider_with_a_key_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    assert chains(WorkerSettings()).of("executor") == ("google_genai:gemini-2.5-flash",)
    monkeypatch.setenv("GROQ_API_KEY", "key")
    configured = chains(WorkerSettings())
    assert configured.of("executor") == ("groq:openai/gpt-oss-120b",)
    assert configured.of("router") == ("groq:openai/gpt-oss-20b",)


def test_a_default_model_can_be_named_and_priced() -> None:
    for provider in PROVIDERS.values():
        for model in (provider.large, provider.small):
            if model is not None:
                name = ModelName.parse(f"{provider.name}:{model}")
                assert Prices().of(name, Usage(1_000, 100)) is not None, name


@pytest.mark.parametrize("written", ["groq:*, compatible:*", '["groq:*", "compatible:*"]'])
def test_the_allow_list_has_the_form_of_chains(
    written: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FETTLE_MODELS", written)
    assert ApiSettings().models == ("groq:*", "compatible:*")
