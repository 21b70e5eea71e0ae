"""The file of review rules: matching of repositories and labels, and errors that name the line."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from jobs.model import spec
from jobs.model.spec import repository_name
from settings import review_policy
from settings.api import ApiSettings
from settings.review_policy import ReviewPolicy
from settings.starting.provenance import complaints, trace

PAYMENTS = """\
[groups]
leads = ["Ada Lovelace", "Grace Hopper"]

[[rule]]
name = "payments"
repositories = ["https://git.example.org/payments/core.git"]
approvals = 2
approvers = ["group:leads", "CODEOWNERS"]

[[rule]]
name = "production"
labels = ["production"]
remark = true
"""


def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> ReviewPolicy:
    path = tmp_path / "review.toml"
    path.write_text(text)
    monkeypatch.setenv("FETTLE_REVIEW_POLICY", str(path))
    policy = ApiSettings().review_policy
    assert policy is not None
    return policy


@pytest.mark.parametrize(
    "url",
    [
        "https://git.example.org/payments/core",
        "https://git.example.org/payments/core.git/",
        "https://git.example.org/payments/core/.git",
        "https://git.example.org/payments/core.GIT",
        "ssh://git@GIT.example.org:2222//payments/./core.git",
        "https://git.example.org./%70ayments/core",
        "https://git.example.org/Payments/x/../core",
    ],
)
def test_no_way_to_write_an_url_evades_a_rule(tmp_path, monkeypatch, url):
    policy = read(tmp_path, monkeypatch, PAYMENTS)
    assert [rule.name for rule in policy.rules_for(repository_name(url or ""), ())] == ["payments"]
    both = policy.rules_for(repository_name(url), ("production", "x"))
    assert [rule.name for rule in both] == ["payments", "production"]
    assert policy.approvers_of(both[0]) == ("Ada Lovelace", "Grace Hopper", "CODEOWNERS")


@pytest.mark.parametrize("url", [None, "https://git.example.org/other", "https://a.org/payments/x"])
def test_a_rule_for_repositories_leaves_other_jobs_alone(tmp_path, monkeypatch, url):
    policy = read(tmp_path, monkeypatch, PAYMENTS)
    assert policy.rules_for(repository_name(url or ""), ()) == []
    everywhere = read(tmp_path, monkeypatch, '[[rule]]\nname = "all"\nrepositories = ["*"]\n')
    assert bool(everywhere.rules_for(repository_name(url or ""), ())) is (url is not None)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("approvals = 2", "approvals = 3", 7, "approvals: Input should be less than or equal to 2"),
        ("approvals = 2", "aprovals = 2", 7, "no such field; use name, repositories"),
        ("remark = true", "remark = 1", 13, "remark: Input should be a valid boolean"),
        ('name = "production"\n', "", 10, "name: Field required"),
        ('"production"', '"payments"', 11, "another rule has the name 'payments'"),
        ("group:leads", "group:boss", 8, "group:boss is not in [groups]"),
        ('["group:leads", "CODEOWNERS"]', '["Ada"]', 8, "name more persons"),
        ('["group:leads", "CODEOWNERS"]', '["Ada", "ada "]', 8, "name more persons"),
        ("approvals = 2", "expires_seconds = 32000000", 7, "should be less than or equal"),
        ("https://git.example.org/p", "git@git.example.org:p", 6, "write HOST/PATH"),
        ("https://git.example.org/p", "/p", 6, "write HOST/PATH"),
        ("leads = [", "leads = 1 #[", 2, "leads: Input should be a valid list"),
        ("[[rule]]", "[[rules]]", 4, "there is no such field; use rule, groups"),
        ("[groups]", "[groups", 1, "at line 1"),
    ],
)
def test_a_bad_file_is_an_error_with_line_and_remedy(tmp_path, monkeypatch, old, new, line, reason):
    monkeypatch.setenv("FETTLE_CONFIG", "")
    with pytest.raises(ValidationError) as raised:
        read(tmp_path, monkeypatch, PAYMENTS.replace(old, new))
    (message,) = complaints(ApiSettings, raised.value)
    assert message.startswith("FETTLE_REVIEW_POLICY (environment): ")
    assert reason in message
    assert f"line {line}" in message


@pytest.mark.parametrize(
    "pattern", ["git.example.org//payments/core.GIT/", "https://GIT.example.org/./pay%6Dents/*"]
)
def test_no_way_to_write_a_pattern_makes_a_rule_without_effect(tmp_path, monkeypatch, pattern):
    text = PAYMENTS.replace("https://git.example.org/payments/core.git", pattern)
    rules = read(tmp_path, monkeypatch, text).rules_for("git.example.org/payments/core", ())
    assert [rule.name for rule in rules] == ["payments"]


def test_the_word_for_the_owners_of_files_is_the_same_in_policy_and_job():
    assert review_policy.CODEOWNERS == spec.CODEOWNERS


def test_a_missing_file_is_an_error_and_an_empty_name_is_no_policy(tmp_path, monkeypatch):
    monkeypatch.setenv("FETTLE_REVIEW_POLICY", "")
    assert ApiSettings().review_policy is None
    monkeypatch.setenv("FETTLE_REVIEW_POLICY", str(tmp_path / "missing.toml"))
    with pytest.raises(ValidationError, match="No such file"):
        ApiSettings()


def test_the_configuration_shows_the_path_of_the_policy(tmp_path, monkeypatch):
    read(tmp_path, monkeypatch, PAYMENTS)
    values = {setting.name: setting.value for setting in trace(ApiSettings)}
    assert values["review_policy"] == str(tmp_path / "review.toml")


def test_the_example_of_the_documentation_is_valid(tmp_path, monkeypatch):
    page = Path(__file__).parents[3] / "docs" / "review.md"
    example = page.read_text().partition("```toml\n")[2].partition("```")[0]
    policy = read(tmp_path, monkeypatch, example)
    rules = policy.rules_for("git.example.org/payments/core", ())
    assert [rule.name for rule in rules] == ["every job", "payments"]


def test_only_a_name_with_its_prefix_is_a_group(tmp_path, monkeypatch):
    text = PAYMENTS.replace('"group:leads", "CODEOWNERS"', '"leads", "Alan"')
    policy = read(tmp_path, monkeypatch, text)
    assert policy.approvers_of(policy.rule[0]) == ("leads", "Alan")
