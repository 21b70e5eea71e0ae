"""People: which keys count as one person where a job needs more than one.

A key belongs to a person. Its makers are the persons who made it, and who made the key that made
it, and so on: they have seen its secret, or could have made another key. So work that a key has
brought counts as its makers', too, and a key approves only if its person has made it, or the
operator's first key, which the environment sets and which makes the first keys of a deployment.

Why: docs/decisions/0066-a-vote-is-a-persons.md
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from jobs.model.credentials import FIRST, FIRST_NAMES, OPERATOR, Credential


def identity_of(person: str) -> str:
    """A person's name as names are compared: without case, with one form of each letter (Unicode
    NFKC), and with single spaces."""
    folded = unicodedata.normalize("NFKC", person).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def person_key(person: str) -> str:
    """The identity key of a person, which is on record with each vote."""
    return f"person:{identity_of(person)}"


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
        every = (FIRST, *self.keys)
        by_name: dict[str, tuple[Credential, ...]] = dict.fromkeys(FIRST_NAMES, (FIRST,))
        for key in self.keys:
            by_name[key.name.lower()] = (*by_name.get(key.name.lower(), ()), key)
        object.__setattr__(self, "keys", every)
        object.__setattr__(self, "_by_id", {key.id: key for key in every})
        object.__setattr__(self, "_by_name", by_name)
        object.__setattr__(self, "_circles", {key.id: self._circle(key) for key in every})

    def same_person(self, key: Credential) -> Mapping[str, str]:
        """The identity keys (see `Signer.identity_keys`) of all keys of the tenant that count as
        the person of `key`, each with the reason; '' if both keys belong to that person."""
        own = self._circles.get(key.id) or self._circle(key)
        same = dict.fromkeys({*key.signer.identity_keys, person_key(key.person)}, "")
        if others := [own.makers[each] for each in own.makers if each not in (own.person, _FIRST)]:
            same[MADE_FOR_ANOTHER] = f"{others[0]} made the key {key.name} for {key.person}"
        for other in self.keys:
            if other.tenant != key.tenant or other.id == key.id:
                continue
            reason = _reason(key, own, other, self._circles[other.id])
            if reason is not None:
                same |= dict.fromkeys(other.signer.identity_keys - same.keys(), reason)
        return same

    def _circle(self, key: Credential) -> _Circle:
        makers: dict[str, str] = {}
        met, left = {key.id}, [key]
        while left:
            made = left.pop()
            for maker in self._makers(made):
                makers.setdefault(identity_of(maker.person), maker.person)
                if maker.id not in met:
                    met.add(maker.id)
                    left.append(maker)
        return _Circle(identity_of(key.person), makers)

    def _makers(self, key: Credential) -> Iterator[Credential]:
        """The key that made this key. An older release has recorded only its name, which several
        keys may have had: all of them count."""
        if (maker := self._by_id.get(key.created_by_key)) is not None:
            yield maker
            return
        for maker in self._by_name.get(key.created_by.lower(), ()):
            if maker.tenant in (key.tenant, OPERATOR):
                yield maker


def _reason(key: Credential, own: _Circle, other: Credential, others: _Circle) -> str | None:
    """Why both keys count as one person, '' if they belong to one; None if they do not count so."""
    if own.person == others.person:
        return ""
    if others.person in own.makers:
        return f"{other.person} made the key {key.name}"
    if own.person in others.makers:
        return f"{key.person} made the key {other.name}"
    return None
