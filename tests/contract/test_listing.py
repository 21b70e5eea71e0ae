"""The filters of a page of jobs, in Redis."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

from support.jobs.job_examples import RESULT, TENANT, job, lease_of, review

from jobs.audit.entries import Actor
from jobs.model.credentials import Signer
from jobs.model.record import Status
from jobs.model.review import Action, Decision
from jobs.model.spec import JobKind, Priority, Repo, repository_name
from jobs.redis import keys
from jobs.store import Charge
from jobs.store.listing import Period
from jobs.view.inbox import Order

ANN, BOB, CAT = Signer("ann"), Signer("bob", "k-bob"), Signer("cat", "k-cat")


async def ids(service, **sought) -> list[str]:
    page = await service.store.page(TENANT, limit=10, offset=0, **sought)
    record_ids = [record.id for record in page.records]
    assert page.total == len(record_ids)
    return record_ids


async def waiting(service, **fields) -> str:
    running = await service.running(review=True, **fields)
    return job(await service.operations.pause(lease_of(running), review())).id


async def test_changes_are_counted_by_tenant(service):
    counts = [await service.store.changes(TENANT)]
    running = await service.running()
    counts.append(await service.store.changes(TENANT))
    await service.operations.cancel(running.id, "ann")
    counts.append(await service.store.changes(TENANT))
    assert counts == sorted(set(counts))
    assert counts[-1] == await service.store.changes(TENANT)
    assert await service.store.changes("other") == 0


async def test_jobs_are_found_by_words_and_their_prefixes(service):
    primes = (await service.submit("Write a prime checker, fast")).id
    search = (await service.submit("Binary search; primes it is not", labels=("Größe", "v2"))).id
    assert set(await ids(service, text="prime")) == {primes, search}
    assert await ids(service, text="Prime CHECK") == [primes]
    assert await ids(service, text="binary_search") == [search]
    assert await ids(service, text="GRÖSSE v2") == [search]
    assert await ids(service, text=primes[:9]) == [primes]
    assert await ids(service, text="a") == [primes], "one letter is a word of its own"
    for nothing in ("checkers", "prime sudoku", "rime", "...", "Prime\udcffz"):
        assert await ids(service, text=nothing) == []


async def test_a_search_respects_the_tenant_and_the_other_filters(service):
    queued = (await service.submit("sort a list", labels=("demo",))).id
    running = (await service.running(labels=("demo",))).id
    assert await ids(service, text="sort", status=Status.QUEUED, label="demo") == [queued]
    assert await ids(service, text="sort", status=Status.RUNNING) == []
    assert await ids(service, text="demo", status=Status.RUNNING) == [running]
    theirs = await service.store.page("other", limit=9, offset=0, text="sort")
    assert (list(theirs.records), theirs.total) == ([], 0)


async def test_a_long_result_comes_in_pages_newest_first(service):
    job_ids = [(await service.submit(f"word{number % 3} same")).id for number in range(7)]
    newest = [record.id for record in (await _page(service, 10, 0)).records]
    assert set(newest) == set(job_ids)
    parts = [await _page(service, 3, offset) for offset in (0, 3, 6, 9)]
    assert [part.total for part in parts] == [7] * 4
    assert [record.id for part in parts for record in part.records] == newest


async def _page(service, limit: int, offset: int):
    return await service.store.page(TENANT, limit=limit, offset=offset, text="word same")


async def test_jobs_without_a_task_are_listed_by_their_kind(service):
    task = (await service.submit("check", labels=("x",))).id
    verification_id = (await service.submit("check", labels=("x",), kind=JobKind.VERIFICATION)).id
    assert await ids(service) == await ids(service, label="x") == await ids(service, text="check")
    assert await ids(service) == [task]
    assert await ids(service, kind=JobKind.VERIFICATION, status=Status.QUEUED) == [verification_id]
    assert await ids(service, kind=JobKind.VERIFICATION, label="x") == [verification_id]


async def test_jobs_that_wait_for_a_person_are_those_that_the_person_may_decide(service):
    first, second = await waiting(service), await waiting(service, approvals=2)
    await service.submit()
    assert set(await ids(service, waits_for=ANN.identity_keys)) == {first}, (
        "the other one is her own"
    )
    assert set(await ids(service, waits_for=BOB.identity_keys)) == {first, second}
    vote = Decision("r1", Action.APPROVE, BOB.name, key_id=BOB.key_id)
    job(await service.operations.decide(second, vote))
    assert set(await ids(service, waits_for=BOB.identity_keys)) == {first}
    assert set(await ids(service, waits_for=Signer("Bob", "new key").identity_keys)) == {first}
    assert set(await ids(service, waits_for=CAT.identity_keys)) == {first, second}
    job(await service.operations.decide(second, Decision("r1", Action.REVISE, "cat", feedback="x")))
    running = await service.claim(second)
    job(await service.operations.pause(lease_of(running), review("r2")))
    assert set(await ids(service, waits_for=BOB.identity_keys)) == {first, second}, (
        "votes begin anew"
    )
    job(await service.operations.cancel(second, "ann"))
    assert await ids(service, waits_for=BOB.identity_keys) == [first]


async def test_waiting_jobs_have_the_order_of_the_inbox_on_each_page(service):
    running = [await service.running(review=True, labels=(name,)) for name in ("a", "a", "b")]
    reviews = (review(unproven="no run"), review(unproven="no run"), review())
    for index in (2, 0, 1):  # the opening has another order than the submission
        job(await service.operations.pause(lease_of(running[index]), reviews[index]))
        await asyncio.sleep(0.002)  # the times differ
    first, second, third = (record.id for record in running)
    bob = BOB.identity_keys

    async def pages(order: Order, **sought) -> list[list[str]]:
        parts = [
            await service.store.page(
                TENANT, limit=2, offset=offset, waits_for=bob, order=order, **sought
            )
            for offset in (0, 2)
        ]
        return [[record.id for record in part.records] for part in parts]

    assert await pages(Order.WAIT) == [[third, first], [second]]
    assert await pages(Order.RED) == [[first, second], [third]], "grey before green"
    assert await pages(Order.WAIT, label="a") == [[first, second], []]
    job(await service.operations.decide(third, Decision("r1", Action.REVISE, "bob", feedback="x")))
    again = await service.claim(third)
    job(await service.operations.pause(lease_of(again), review("r2")))
    assert await pages(Order.WAIT) == [[first, second], [third]], "the next review is a new wait"
    entries, total, _ = await service.store.inbox(TENANT, bob, Order.RED)
    assert ([entry.job_id for entry in entries], total) == ([first, second, third], 3)
    await service.store.redis.delete(keys.reviews(TENANT))
    assert set(await ids(service, waits_for=bob)) == {first, second, third}, (
        "a worker of an older release does not write the index"
    )


async def test_jobs_are_found_by_an_override_of_their_evidence(service):
    plain = await waiting(service)
    job(await service.operations.decide(plain, Decision("r1", Action.APPROVE, "bob")))
    running = await service.running(review=True, labels=("demo",))
    opened = review(unproven="nothing has been run")
    overridden = job(await service.operations.pause(lease_of(running), opened)).id
    assert await ids(service, override=True) == []
    approval = Decision("r1", Action.APPROVE, "bob", feedback="It is a text.", override=True)
    job(await service.operations.decide(overridden, approval))
    assert await ids(service, override=True) == [overridden]
    assert await ids(service, override=True, label="demo", status=Status.QUEUED) == [overridden]
    assert await ids(service, override=True, label="other") == []
    again = await service.claim(overridden)
    job(await service.operations.succeed(lease_of(again), replace(RESULT, override=True), ""))
    assert await ids(service, override=True, status=Status.SUCCEEDED) == [overridden]
    await service.operations.delete(overridden, Actor("root"))
    assert await ids(service, override=True) == []


async def test_a_page_has_the_costs(service):
    record = await service.submit()
    await service.store.charge(record.id, [Charge("a", "critic", "m", 1, 2, "0.5")])
    page = await service.store.page(TENANT, limit=10, offset=0)
    assert [charge.cost_usd for charge in page.charges[record.id]] == ["0.5"]


SAME_REPOSITORY = (
    "https://git.example.org/team/app/",
    "git.example.org/team/app",
    "GIT.example.org./Team/App.GIT",
    "https://git.example.org:8443//team/%61pp.git",
)


async def test_jobs_are_found_by_submitter_model_repository_and_conversation(service):
    plain = await service.submit("a")
    repo = Repo(url="ssh://git@Git.Example.org/team/app.git")
    other = await service.submit("b", model="groq:x", repo=repo, conversation_id=plain.id)
    for values, expected in (
        ({"person": "ann"}, [other.id, plain.id]),
        ({"person": "bob"}, []),
        ({"model": "groq:x"}, [other.id]),
        *(({"repository": repository_name(name)}, [other.id]) for name in SAME_REPOSITORY),
        ({"conversation": plain.id}, [other.id, plain.id]),
        ({"conversation": plain.id, "model": "groq:x", "status": Status.QUEUED}, [other.id]),
        ({"conversation": other.id}, []),
    ):
        assert await ids(service, **values) == expected, values
    job(await service.operations.cancel(other.id, "ann"))
    assert await service.operations.delete(other.id, Actor("ann")) is None
    assert await ids(service, repository="git.example.org/team/app") == []
    assert await ids(service, conversation=plain.id) == [plain.id]


async def test_the_repositories_of_the_newest_jobs_are_read_from_their_specs(service):
    urls = [f"https://git.example.org/team/{name}.git" for name in ("a", "b", "a", "c")]
    for url in urls:
        record = await service.submit(repo=Repo(url=url))
        while await service.store.now() == record.created_at:
            pass
    await service.submit("without a repository")
    await service.submit("uploaded", repo=Repo(bundle="d" * 64))
    assert await service.store.newest_repositories(TENANT, 9) == [urls[3], urls[2], urls[1]]
    assert await service.store.newest_repositories(TENANT, 3) == [urls[3]]
    assert await service.store.newest_repositories("other", 9) == []


async def test_a_place_in_the_queue_counts_jobs_of_higher_priority_and_older_jobs(service):
    high, low = {"priority": Priority.HIGH}, {"priority": Priority.LOW}
    fields = (low, {}, {"kind": JobKind.VERIFICATION}, high, {}, low, high)
    records = []
    for spec in fields:
        records.append(await service.submit(**spec))
        while await service.store.now() == records[-1].created_at:
            pass
    expected = [5, 2, 3, 0, 4, 6, 1]
    assert [await service.store.count_ahead(record) for record in records] == expected
    await service.claim(records[3].id)
    job(await service.operations.cancel(records[2].id, "ann"))
    assert await service.store.count_ahead(records[5]) == 4


async def test_a_job_that_waits_in_a_line_has_no_place_in_the_queue(service):
    head = await service.submit(priority=Priority.LOW)
    same_line = {"conversation_id": head.id}
    urgent = await service.submit(priority=Priority.HIGH, **same_line)
    second, third = [await service.submit(**same_line) for _ in range(2)]
    last = await service.submit(priority=Priority.LOW)

    async def count_ahead_of_last() -> int:
        return await service.store.count_ahead(last)

    assert await count_ahead_of_last() == 1
    job(await service.operations.cancel(second.id, "ann"))
    assert await count_ahead_of_last() == 1
    job(await service.operations.cancel(head.id, "ann"))
    assert await count_ahead_of_last() == 1
    urgent = await service.claim(urgent.id)
    assert await count_ahead_of_last() == 0
    job(await service.operations.succeed(lease_of(urgent), RESULT))
    assert await count_ahead_of_last() == 1
    await service.claim(third.id)
    assert await count_ahead_of_last() == 0


async def test_a_period_and_an_order_select_jobs_by_their_submission(service):
    times, job_ids = list[int](), list[str]()
    for number in range(5):
        record = await service.submit(f"word {number}")
        times.append(record.created_at)
        job_ids.append(record.id)
        while await service.store.now() == record.created_at:
            pass
    assert await ids(service, oldest_first=True) == job_ids
    for words in ("", "word"):
        between = Period(times[1], times[4])
        assert await ids(service, period=between, text=words) == job_ids[3:0:-1]
        assert await ids(service, period=between, text=words, oldest_first=True) == job_ids[1:4]
        assert await ids(service, period=Period(end=times[1]), text=words) == job_ids[:1]
        assert await ids(service, period=Period(times[4]), text=words) == job_ids[4:]
        assert await ids(service, period=Period(times[4] + 1), text=words) == []
        first = await service.store.page(TENANT, limit=1, offset=1, period=between, text=words)
        assert ([r.id for r in first.records], first.total) == ([job_ids[2]], 3)


async def test_other_labels_move_a_job_between_lists_and_words(service):
    record = await service.submit("sort", labels=("red", "blue sky"))
    other = await service.submit("sort", labels=("red",))
    assert await ids(service, text="blue") == [record.id], "its words are in the index"
    store, actor = service.store, Actor("ann", "k1", "Ann")
    changed = await service.operations.relabel(record.id, lambda _: ["green", "sky"], actor)
    assert (changed.version, changed.spec.labels) == (record.version + 1, ("green", "sky"))
    loaded = (await store.load(record.id)).record
    assert loaded == changed
    for label, expected in (("red", [other.id]), ("green", [record.id]), ("blue sky", [])):
        assert await ids(service, label=label) == expected, label
    for text, expected in (("blue", []), ("sky sort", [record.id]), ("red", [other.id])):
        assert await ids(service, text=text) == expected, text
    claimed = await service.claim(record.id)
    assert claimed.spec.labels == ("green", "sky")
    ended = job(await service.operations.succeed(lease_of(claimed), RESULT))
    assert (
        await service.operations.relabel(record.id, lambda _: [], actor)
    ).finished_at == ended.finished_at
    assert await ids(service, label="sky") == await ids(service, text="sky") == []
    await store.audit.seal(TENANT)
    entries = [json.loads(line) for line in await store.audit.read(TENANT, 0, 9)]
    assert [entry["kind"] for entry in entries] == ["labels_changed"] * 2
    assert entries[0]["actor"] == {"name": "ann", "key_id": "k1", "person": "Ann"}
    assert entries[0]["data"] == {
        "job_id": record.id,
        "labels": ["green", "sky"],
        "before": ["red", "blue sky"],
    }
    assert await service.operations.delete(record.id, actor) is None
    assert await ids(service) == [other.id]
    unknown = await service.operations.relabel(record.id, ["x"], actor)
    assert unknown.code == "unknown"


async def test_other_labels_win_no_race_against_a_change_of_the_job(service):
    record = await service.submit("sort", labels=("red",))
    job(await service.operations.cancel(record.id, "ann"))
    assert await service.store.relabel(record, ["blue"], Actor("ann")) is None
    assert await ids(service, label="red") == [record.id]
