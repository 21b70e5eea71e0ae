from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agents.checks.room.channel import written
from agents.checks.room.seal import sealed


class Keeper:
    """Of notes as the judge's objects have them."""

    def __init__(self) -> None:
        self.kept: list[object] = [1, "a"]
        self.names: dict[str, object] = {"a": [1]}
        self.loaded: dict[str, object] = {"m": object()}
        self._loaded: dict[str, object] = {"m": object()}
        self._codes: dict[str, object] = {}
        self._reports: list[object] = []


def asked(keeper: Keeper, change: Callable[[], Any], seen: dict[str, object]) -> list[str]:
    seal = sealed([keeper], lambda: [seen])
    next(seal)
    keeper._codes = {"a": len}
    next(seal)
    change()
    return next(seal)


def test_what_is_added_or_at_work_breaks_no_seal() -> None:
    keeper, seen = Keeper(), dict[str, object]()

    def work() -> None:
        keeper.kept.append(2)
        keeper.names["b"] = 3
        keeper.loaded["m"] = object()
        keeper._loaded.clear()
        keeper._codes["b"] = print
        keeper._reports = [4]
        seen["x"] = 5

    assert asked(keeper, work, seen) == []


BREAKS: dict[str, tuple[Callable[[Keeper], Any], str]] = {
    "emptied": (lambda keeper: keeper.kept.clear(), "Keeper.kept"),
    "another member": (lambda keeper: keeper.kept.__setitem__(0, 2), "Keeper.kept"),
    "another list": (lambda keeper: setattr(keeper, "kept", [1, "a"]), "Keeper.kept"),
    "a name gone": (lambda keeper: keeper.names.pop("a"), "Keeper.names"),
    "another value": (lambda keeper: keeper.names.update(a=[1]), "Keeper.names"),
    "a module gone": (lambda keeper: keeper.loaded.clear(), "Keeper.loaded"),
    "another list of modules": (lambda keeper: setattr(keeper, "_loaded", {}), "Keeper._loaded"),
    "what pytest told": (lambda keeper: keeper._codes.update(a=print), "Keeper._codes"),
    "one more attribute": (lambda keeper: setattr(keeper, "changed", list), "Keeper"),
    "another dictionary": (
        lambda keeper: setattr(keeper, "__dict__", dict(vars(keeper))),
        "Keeper",
    ),
    "another class": (
        lambda keeper: setattr(keeper, "__class__", type("Quiet", (Keeper,), {})),
        "Keeper",
    ),
    "no attribute": (lambda keeper: delattr(keeper, "kept"), "Keeper.kept"),
}


@pytest.mark.parametrize("how", BREAKS)
def test_what_is_gone_or_exchanged_breaks_it(how: str) -> None:
    keeper = Keeper()
    change, name = BREAKS[how]
    assert asked(keeper, lambda: change(keeper), {})[0] == name


def test_what_is_added_before_the_tests_are_collected_breaks_it() -> None:
    keeper = Keeper()
    seal = sealed([keeper], list)
    next(seal)
    vars(keeper)["changed"] = list
    next(seal)
    assert next(seal) == ["Keeper"]


def test_what_compares_must_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Keeper, "asked", asked, raising=False)

    def change() -> None:
        monkeypatch.setattr(Keeper, "asked", change)
        monkeypatch.setitem(globals(), "asked", change)

    assert asked(Keeper(), change, {}) == ["Keeper.asked", f"{__name__}.asked"]


def test_what_was_seen_of_a_module_must_stay() -> None:
    seen: dict[str, object] = {"same": print}
    assert asked(Keeper(), seen.clear, seen) == ["names"]


def test_whoever_asks_a_seal_before_its_time_leaves_nothing_to_answer() -> None:
    seal: Iterator[list[str]] = sealed([Keeper()], list)
    assert [next(seal) for _ in range(3)] == [[], [], []]
    assert next(seal, None) is None


@pytest.mark.parametrize(
    "report",
    [
        {"next": True, "end": 0, "status": -3, "id": 'a"\\\n\x00é\U0001f600\ud83d'},
        {"errors": {"test_a.py": "x", "b": ""}, "changed": ["a", "b"], "none": [], "no": {}},
    ],
)
def test_a_report_is_written_as_json(report: dict[str, object]) -> None:
    assert json.loads(written(report)) == report
    assert written(report).isascii()
