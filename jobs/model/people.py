"""People: which keys count as the same person if a job needs several persons.

A key belongs to a person. The makers of a key are the person who made it, the person who made the
key that made it, and so on: they have seen its secret, or could have made another key. So the work
of a key also counts as work of its makers. A key approves only if its person, or the operator's
first key, has made it. The environment sets the first key, and the first key makes the first keys
of a deployment.

See ADR 66.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jobs.model.credentials import FIRST, FIRST_NAMES, OPERATOR, Credential

PERSON = "person:"
"""The beginning of the identity key of a person."""


def identity_of(person: str) -> str:
    """The form in which names of persons are compared: without case, one form of each letter
    (Unicode NFKC), single spaces."""
    folded = unicodedata.normalize("NFKC", person).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def person_key(person: str) -> str:
    """The identity key of a person. Each vote is recorded with it."""
    return f"{PERSON}{identity_of(person)}"


MADE_FOR_ANOTHER = "made-for-another"
"""The identity key of all keys that a person has made for another person."""
_FIRST = identity_of(FIRST.person)


@dataclass(frozen=True, slots=True)
class _Circle:
    """The identity of a key's person; by identity, the names of all who made the key."""

    person: str
    makers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class KeyRing:
    """All keys of a deployment, revoked keys included. Their persons and makers never change."""

    keys: tuple[Credential, ...]
    _by_id: Mapping[str, Credential] = field(init=False, repr=False)
    _by_name: Mapping[str, tuple[Credential, ...]] = field(init=False, repr=False)
    _circles: Mapping[str, _Circle] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Index the keys, with the operator's first key."""
        all_keys = (FIRST, *self.keys)
        by_name: dict[str, tuple[Credential, ...]] = dict.fromkeys(FIRST_NAMES, (FIRST,))
        for key in self.keys:
            by_name[key.name.lower()] = (*by_name.get(key.name.lower(), ()), key)
        object.__setattr__(self, "keys", all_keys)
        object.__setattr__(self, "_by_id", {key.id: key for key in all_keys})
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_circles", {key.id: self._circle(key) for key in all_keys})

    def same_person(self, key: Credential) -> Mapping[str, str]:
        """The identity keys (see `Signer.identity_keys`) of all keys of the tenant that count as
        the person of `key`, each with the reason; '' if both keys belong to that person."""
        circle = self._circles.get(key.id) or self._circle(key)
        same = dict.fromkeys({*key.signer.identity_keys, person_key(key.person)}, "")
        self_or_first = (circle.person, _FIRST)
        makers = [name for identity, name in circle.makers.items() if identity not in self_or_first]
        if makers:
            same[MADE_FOR_ANOTHER] = f"{makers[0]} made the key {key.name} for {key.person}"
        for second_key in self.keys:
            if second_key.tenant != key.tenant or second_key.id == key.id:
                continue
            reason = _reason(key, circle, second_key, self._circles[second_key.id])
            if reason is not None:
                same |= dict.fromkeys(second_key.signer.identity_keys - same.keys(), reason)
        return same

    def _circle(self, key: Credential) -> _Circle:
        makers: dict[str, str] = {}
        seen_ids, waiting = {key.id}, [key]
        while waiting:
            for maker in self._makers(waiting.pop()):
                makers.setdefault(identity_of(maker.person), maker.person)
                if maker.id not in seen_ids:
                    seen_ids.add(maker.id)
                    waiting.append(maker)
        return _Circle(identity_of(key.person), makers)

    def _makers(self, key: Credential) -> Iterator[Credential]:
        """The key that made this key. Fettle 0.1.0 recorded only its name, which several keys may
        have had: all of them count."""
        if (maker := self._by_id.get(key.created_by_key)) is not None:
            yield maker
            return
        for maker in self._by_name.get(key.created_by.lower(), ()):
            if maker.tenant in (key.tenant, OPERATOR):
                yield maker


def _reason(
    key: Credential, circle: _Circle, second_key: Credential, second_circle: _Circle
) -> str | None:
    """The reason why both keys count as the same person; '' if they belong to the same person, and
    None if they count as two persons."""
    if circle.person == second_circle.person:
        return ""
    if second_circle.person in circle.makers:
        return f"{second_key.person} made the key {key.name}"
    if circle.person in second_circle.makers:
        return f"{key.person} made the key {second_key.name}"
    return None
