"""Which keys count as one person."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jobs.model.credentials import EVERY_SCOPE, FIRST, Credential
from jobs.model.people import MADE_FOR_ANOTHER, KeyRing, identity_of

FIRST_KEY = replace(FIRST, name="development", person="development")


def key(name: str, maker: Credential = FIRST_KEY, **fields) -> Credential:
    fields_of_key = {"created_by": maker.name, "created_by_key": maker.id, **fields}
    return Credential(
        f"k-{name}", name, fields_of_key.pop("tenant", "default"), EVERY_SCOPE, **fields_of_key
    )


def count_as_one_person(first: Credential, second: Credential, *more_keys: Credential) -> bool:
    """Whether two keys count as one person; the result must be the same in both orders."""
    ring = KeyRing(
        tuple(credential for credential in (first, second, *more_keys) if credential.id != FIRST.id)
    )
    results = {f"key:{b.id}" in ring.same_person(a) for a, b in ((first, second), (second, first))}
    (answer,) = results
    return answer


ALICE = key("alice")


@pytest.mark.parametrize(
    "spelled", ["Ada Lovelace", "ada lovelace", " ADA\u00a0 Lovelace ", "\uff21da Lovelace"]
)
def test_the_spelling_of_a_name_does_not_make_another_person(spelled):
    assert identity_of(spelled) == identity_of("Ada Lovelace")
    laptop, phone = key("laptop", person="Ada Lovelace"), key("phone", person=spelled)
    assert count_as_one_person(laptop, phone)
    assert not count_as_one_person(laptop, key("bob"))


def test_keys_made_by_the_first_key_differ_from_one_another_but_not_from_it():
    assert not count_as_one_person(ALICE, key("bob"))
    assert count_as_one_person(FIRST_KEY, ALICE)


def test_a_key_counts_as_each_of_its_makers():
    child_key = key("sock", ALICE)
    grandchild_key = key("puppet", child_key)
    for descendant in (child_key, grandchild_key):
        assert count_as_one_person(ALICE, descendant, child_key)
    assert count_as_one_person(child_key, grandchild_key)
    assert count_as_one_person(key("alice-2", person="Alice"), child_key, ALICE), (
        "another key of the maker"
    )
    assert not count_as_one_person(key("bob"), child_key, ALICE)


def reason(approver: Credential, *others: Credential) -> str | None:
    """The reason why the key's approval does not count if two approvals are needed."""
    return KeyRing((approver, *others)).same_person(approver).get(MADE_FOR_ANOTHER)


def test_a_key_that_a_person_made_for_another_gives_no_approval():
    child_key = key("x", ALICE, person="Xavier")
    assert reason(child_key, ALICE) == "alice made the key x for Xavier"
    fields_of_key = key("alice-2", ALICE, person="ALICE")
    assert reason(fields_of_key, ALICE) is reason(ALICE) is reason(FIRST_KEY) is None
    assert reason(key("back", child_key, person="alice"), child_key, ALICE) is not None, (
        "Xavier may know it"
    )
    assert reason(key("alice-3", fields_of_key, person="Alice"), fields_of_key, ALICE) is None


def test_a_revoked_maker_or_a_new_key_with_its_name_has_no_effect():
    revoked_key = replace(ALICE, revoked_at=1)
    child_key = key("sock", revoked_key)
    again = replace(key("alice"), id="k-new")
    assert count_as_one_person(revoked_key, child_key)
    assert count_as_one_person(again, child_key, revoked_key), "the same person"
    namesake_key = replace(key("alice", person="Alice Liddell"), id="k-other")
    assert not count_as_one_person(namesake_key, child_key, revoked_key), (
        "the name alone is no person"
    )


def test_the_makers_name_counts_for_older_records():
    old = Credential("k-old", "sock", "acme", EVERY_SCOPE, created_by="Alice")
    admin = key("alice", tenant="acme")
    assert count_as_one_person(admin, old)
    assert reason(old, admin) == "alice made the key sock for sock"
    elsewhere = replace(admin, id="k-e", tenant="other")
    assert "key:k-old" not in KeyRing((elsewhere, old)).same_person(elsewhere)
    assert not count_as_one_person(
        old, replace(key("bob"), tenant="acme", created_by="operator"), admin
    )


def test_keys_of_another_tenant_do_not_count_but_their_persons_do():
    operator = key("olga")
    tenant_key = key("bob", operator, tenant="acme")
    ring = KeyRing((operator, tenant_key, key("cat", operator, tenant="acme")))
    assert set(ring.same_person(operator)) == {
        "key:k-olga",
        "name:olga",
        "person:olga",
        "key:configured",
        "name:operator",
    }
    assert ring.same_person(tenant_key)[MADE_FOR_ANOTHER] == "olga made the key bob for bob"


def test_a_circular_chain_of_makers_ends():
    first_key = Credential("k-1", "one", "t", EVERY_SCOPE, created_by="two")
    second_key = Credential("k-2", "two", "t", EVERY_SCOPE, created_by="one")
    assert count_as_one_person(first_key, second_key)
