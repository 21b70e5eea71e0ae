"""The page System: it shows each sandbox that differs, with its workers."""

from __future__ import annotations

from api.pages.views.system import sandboxes

ON, OFF = [{"name": "seccomp", "active": True}], [{"name": "seccomp", "active": False}]


def test_workers_with_the_same_layers_are_reported_together():
    workers = [{"id": id_, "layers": layers} for id_, layers in (("a", ON), ("b", OFF), ("c", ON))]
    assert sandboxes(workers) == [(["a", "c"], ON), (["b"], OFF)]


def test_a_worker_that_reports_nothing_has_no_part():
    assert sandboxes([{"id": "a", "layers": []}]) == []
