"""What a page of jobs is searched by, in Redis."""

from __future__ import annotations

from support.jobs.job_examples import TENANT, held, job, review

from jobs.model.credentials import Person
from jobs.model.record import Status
from jobs.model.review import Action, Decision
from jobs.model.spec import Kind
from jobs.store import Charge
from jobs.store.listing import Listing, SearchBounds
from jobs.store.redis_store import RedisStore
from jobs.store.types import JobFilter

ANN, BOB, CAT = Person("ann"), Person("bob", "k-bob"), Person("cat", "k-cat")


async def ids(service, **sought) -> list[str]:
    page = await service.store.page(TENANT, limit=10, offset=0, **sought)
    found = [record.id for record in page.records]
    assert page.total == len(found)
    return found


async def waiting(service, **fields) -> str:
    running = await service.running(review=True, **fields)
    return job(await service.operations.pause(held(running), review())).id


async def test_changes_are_counted_by_tenant(service):
    counts = [await service.store.changes(TENANT)]
    running = await service.running()
    counts.append(await service.store.changes(TENANT))
    await service.operations.cancel(running.id, "ann")
    counts.append(await service.store.changes(TENANT))
    assert counts == sorted(set(counts))
    assert counts[-1] == await service.store.changes(TENANT)
    assert await service.store.changes("other") == 0


async def test_jobs_are_found_by_words_and_their_beginnings(service):
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


async def test_a_beginning_that_several_words_have_finds_each_job_once(service):
    made = [(await service.submit(task)).id for task in ("bind", "binary bin", "binder", "bin")]
    for number in range(9):
        await service.submit(f"other {number}")
    assert set(await ids(service, text="bin")) == set(made)
    assert set(await ids(service, text="bin binary")) == {made[1]}


async def test_a_search_keeps_to_its_tenant_and_to_the_other_filters(service):
    queued = (await service.submit("sort a list", labels=("demo",))).id
    running = (await service.running(labels=("demo",))).id
    assert await ids(service, text="sort", status=Status.QUEUED, label="demo") == [queued]
    assert await ids(service, text="sort", status=Status.RUNNING) == []
    assert await ids(service, text="demo", status=Status.RUNNING) == [running]
    theirs = await service.store.page("other", limit=9, offset=0, text="sort")
    assert (list(theirs.records), theirs.total) == ([], 0)


async def test_a_long_result_comes_in_pages_newest_first(service):
    made = [(await service.submit(f"word{number % 3} same")).id for number in range(7)]
    newest = [record.id for record in (await _page(service, 10, 0)).records]
    assert set(newest) == set(made)
    parts = [await _page(service, 3, offset) for offset in (0, 3, 6, 9)]
    assert [part.total for part in parts] == [7] * 4
    assert [record.id for part in parts for record in part.records] == newest


async def _page(service, limit: int, offset: int):
    return await service.store.page(TENANT, limit=limit, offset=offset, text="word same")


async def test_what_is_no_task_is_listed_by_its_kind_alone(service):
    task = (await service.submit("check", labels=("x",))).id
    other = (await service.submit("check", labels=("x",), kind=Kind.VERIFICATION)).id
    assert await ids(service) == await ids(service, label="x") == await ids(service, text="check")
    assert await ids(service) == [task]
    assert await ids(service, kind=Kind.VERIFICATION, status=Status.QUEUED) == [other]
    assert await ids(service, kind=Kind.VERIFICATION, label="x") == [other]


async def test_what_waits_for_a_person_is_what_he_may_decide(service):
    first, second = await waiting(service), await waiting(service, approvals=2)
    await service.submit()
    assert set(await ids(service, waits_for=ANN)) == {first}, "the other one is her own"
    assert set(await ids(service, waits_for=BOB)) == {first, second}
    vote = Decision("r1", Action.APPROVE, BOB.name, key_id=BOB.key_id)
    job(await service.operations.decide(second, vote))
    assert set(await ids(service, waits_for=BOB)) == {first}
    assert set(await ids(service, waits_for=Person("Bob", "new key"))) == {first}
    assert set(await ids(service, waits_for=CAT)) == {first, second}
    job(await service.operations.decide(second, Decision("r1", Action.REVISE, "cat", feedback="x")))
    running = await service.claim(second)
    job(await service.operations.pause(held(running), review("r2")))
    assert set(await ids(service, waits_for=BOB)) == {first, second}, "votes begin anew"
    job(await service.operations.cancel(second, "ann"))
    assert await ids(service, waits_for=BOB) == [first]


async def test_a_page_has_what_was_paid(service):
    record = await service.submit()
    await service.store.charge(record.id, [Charge("a", "critic", "m", 1, 2, "0.5")])
    page = await service.store.page(TENANT, limit=10, offset=0)
    assert [charge.cost_usd for charge in page.charges[record.id]] == ["0.5"]


async def test_what_two_must_approve_does_not_wait_for_whose_work_it_is(service):
    tried = await waiting(service, approvals=2)
    edit = Decision("r1", Action.EDIT, BOB.name, key_id=BOB.key_id, code="1")
    job(await service.operations.decide(tried, edit))
    job(await service.operations.cancel(tried, "cat"))
    heir = job(await service.operations.retry_as_new_job(tried, by=CAT.name, key_id=CAT.key_id))
    job(await service.operations.pause(held(await service.claim(heir.id)), review()))
    for author in (ANN, BOB, CAT):
        assert await ids(service, waits_for=author) == []
    assert await ids(service, waits_for=Person("dan")) == [heir.id]


async def test_a_search_looks_at_so_many_jobs_at_most(service):
    for number in range(6):
        await service.submit(f"word{number % 2} same", labels=("x",))
    if not isinstance(service.store, RedisStore):
        return
    for text in ("same", "word"):
        whole = await service.store.page(TENANT, limit=9, offset=0, text=text)
        newest = [record.id for record in whole.records]
        assert whole.total == 6
        tired = Listing(service.store.redis, SearchBounds(looks=3, counted=3))
        page = await tired.page(TENANT, JobFilter(text=text, label="x"), limit=9, offset=0)
        assert [record.id for record in page.records] == newest[: page.total]
        assert not page.exact or page.total == 6
        page = await tired.page(TENANT, JobFilter(text=text, label="x"), limit=9, offset=6)
        assert (list(page.records), page.exact) == ([], page.total == 6)


async def test_a_search_ends_when_its_page_is_full(service):
    for _ in range(40):
        await service.submit("same word", labels=("x",))
    if not isinstance(service.store, RedisStore):
        return
    whole = await service.store.page(TENANT, limit=50, offset=0, text="same", label="x")
    assert (whole.total, whole.exact) == (40, True)
    hasty = Listing(service.store.redis, SearchBounds(counted=0))
    for offset in (0, 3, 30):
        page = await hasty.page(TENANT, JobFilter(text="same", label="x"), limit=3, offset=offset)
        assert page.records == whole.records[offset : offset + 3]
        assert (page.total, page.exact) == (offset + 4, False), "there is at least one more"
    last = await hasty.page(TENANT, JobFilter(text="same", label="x"), limit=3, offset=37)
    assert (last.records, last.total, last.exact) == (whole.records[37:], 40, True)
