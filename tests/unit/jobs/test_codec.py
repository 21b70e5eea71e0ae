"""Decoding restores an encoded record or event without changes."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.jobs.job_examples import queued
from support.jobs.job_strategies import events, records, times

from jobs.model.codec import dump, event_body, pack_event, read_event, read_record, record_fields
from jobs.model.credentials import Signer
from jobs.model.record import Continuation, JobRecord, Lease, Result
from jobs.model.spec import CheckSpec, Deliver, EarlierChange, JobSpec, Repo, ReviewRules


@given(records)
@settings(max_examples=60)
def test_a_record_is_restored_from_its_fields(record):
    assert read_record(record_fields(record, new=True)) == record


@given(records, records)
@settings(max_examples=30)
def test_a_later_save_changes_every_field_except_those_of_fenced_writes(before, after):
    fields = {**record_fields(before, new=True), **record_fields(after)}
    fenced = ("spec", "workspace", "progress_epoch", "graph", "once", "continues", "start")
    stored_form = {name: getattr(before, name) for name in fenced}
    assert read_record(fields) == replace(after, **stored_form)


@given(events, times, st.integers(1, 10**6))
@settings(max_examples=60)
def test_an_event_is_restored_from_its_number_and_body(event, at, seq):
    stored = f"{at} {event_body(event)}".encode()
    for stored_form in (stored, pack_event(stored) or stored):
        read = read_event(seq, stored_form)
        assert (read.seq, read.at, read.kind, read.data) == (seq, at, event.kind, event.data)


def test_an_event_is_compressed_once_and_only_if_this_saves_space():
    long = b'7 {"kind":"summarized","data":{"text":"' + b"word " * 200 + b'"}}'
    short = b"7 {}"
    smaller = pack_event(long)
    assert smaller is not None
    assert len(smaller) < len(long) / 5
    assert pack_event(short) is None
    assert pack_event(smaller) is None


def test_every_field_of_a_record_is_stored():
    fields = record_fields(queued(), new=True)
    stored_form = {*fields, *json.loads(fields["state"])}
    assert {field.name for field in dataclasses.fields(JobRecord)} <= stored_form


def test_a_record_of_an_older_release_has_no_repository_no_patch_and_no_earlier_change():
    record = replace(queued(), result=Result("42", "critic"))
    fields = record_fields(record, new=True)
    state = json.loads(fields["state"])
    del state["result"]["patch"], state["result"]["bundle"], state["result"]["delivery"]
    del fields["continues"]
    assert read_record({**fields, "state": json.dumps(state)}) == record


def test_the_authors_in_a_stored_start_are_ignored():
    """Records of an earlier state of this release have them. The record has the same authors."""
    start = Continuation(EarlierChange("j0", "b" * 64, "c" * 40), "w" * 64, "d" * 40, "d" * 40)
    record = replace(queued(), continues=start, authors=(Signer("ada", "k1"),))
    fields = record_fields(record, new=True)
    stored_start = {**json.loads(fields["continues"]), "authors": [{"name": "ada", "key_id": "k1"}]}
    assert read_record({**fields, "continues": json.dumps(stored_start)}) == record


def test_a_stored_spec_has_no_defaults():
    repo = Repo("https://git.example.org/a")
    record = queued(repo=repo, deliver=Deliver(), max_revisions=0)
    fields = record_fields(record, new=True)
    spec = {"task": "add 1 and 1", "repo": {"url": repo.url}, "deliver": {}, "max_revisions": 0}
    assert json.loads(fields["spec"]) == spec
    assert read_record(fields) == record


@pytest.mark.parametrize(
    ("kind", "defaults"),
    [
        (
            JobSpec,
            {
                "max_revisions": 3,
                "on_exhausted": "fail",
                "timeout_seconds": 900,
                "priority": "normal",
                "on_expiry": "stay",
                "approvals": 1,
                "repair": True,
                "kind": "task",
                "pause": "before_critic",
                "evidence": "run",
            },
        ),
        (ReviewRules, {"override": True}),
        (CheckSpec, {}),
        (Repo, {}),
        (Deliver, {"branch": True}),
    ],
)
def test_a_default_never_changes_because_stored_specs_leave_it_out(kind, defaults):
    values = {field.name: field.default for field in dataclasses.fields(kind)}
    filled = {
        name: value
        for name, value in values.items()
        if value is not dataclasses.MISSING and value not in (None, False, ())
    }
    assert filled == defaults


def test_a_lease_runs_until_the_job_is_due():
    leased = replace(queued(), due_at=7, lease=Lease("w", 7))
    renewed = {**record_fields(leased, new=True), "due_at": "9"}
    assert read_record(renewed).lease == Lease("w", 9)


@pytest.mark.parametrize(
    ("text", "stored_form"),
    [
        ("naïve 日本 \U0001f600", "naïve 日本 \U0001f600"),
        ("half \ud83d", "half \ufffd"),
        ("\ude00 other half", "\ufffd other half"),
        ("\ud83d\ude00", "\U0001f600"),
        ("nul \x00", "nul \x00"),
    ],
)
def test_text_that_utf_8_cannot_encode_is_replaced(text, stored_form):
    stored = dump({"text": text}).encode()
    assert json.loads(stored) == {"text": stored_form}


def test_a_spec_of_another_release_can_be_read():
    """It has defaults, or fields that this release does not know."""
    record = queued(verify=("pytest", "-q"))
    fields = record_fields(record, new=True)
    spec = {**json.loads(fields["spec"]), "steps": [], "later": 1}
    assert read_record({**fields, "spec": json.dumps(spec)}) == record
