"""Jobs on repositories over HTTP: requests, refusals, and stored specs."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest
from support.pages.api_front import RESULT, done, settings_for, started

from jobs.blobs.manifest import FileEntry, Manifest, load
from jobs.model.record import Push
from jobs.model.spec import Deliver, Repo
from jobs.retention import Retention, remove_unreferenced
from jobs.store import Writes

AT_ONCE = Retention(jobs_ms=-1, grace_ms=-1)
URL = "https://git.example.org/team/app.git"
BUNDLE = b"# v2 git bundle\n0123456789012345678901234567890123456789 HEAD\n\nPACK"
PATCH = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-A = 1\n+A = 2\n"
DIGEST = hashlib.sha256(BUNDLE).hexdigest()


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def parts(bundle=BUNDLE, **fields):
    job = ("job", (None, json.dumps({"task": "fix it", **fields})))
    return [job, ("bundle", ("app.bundle", bundle))]


async def upload(front, *sent, **options):
    return await front.client.post("/jobs", files=sent or parts(), **options)


async def refused(answer):
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, {
        error["field"]: error["message"] for error in answer.json()["errors"]
    }


async def refused_json(front, **fields):
    return await refused(await front.client.post("/jobs", json={"task": "fix it", **fields}))


async def test_a_job_has_the_repository_of_its_url_and_ref(front):
    job_id = await front.submit(repo={"url": URL, "ref": "main"}, files={"a.py": "1"})
    assert (await front.job(job_id))["spec"]["repo"] == {"url": URL, "ref": "main", "bundle": None}
    record = (await front.services.store.load(job_id)).record
    assert record.spec.repo == Repo(URL, "main")
    assert (await front.job(await front.submit()))["spec"]["repo"] is None


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://ada:s3cret@git.example.org/a.git", "credentials"),
        ("https://s3cret@git.example.org/a.git", "credentials"),
        ("ssh://git:s3cret@git.example.org/a.git", "credentials"),
        ("ssh://-oProxyCommand=s3cret/a.git", "plain name of a user and a host"),
        ("ssh://-s3cret@git.example.org/a.git", "plain name of a user and a host"),
        ("ssh://git.example.org%20s3cret/a.git", "plain name of a user and a host"),
        ("ssh://git.example.org", "no path"),
        ("git@git.example.org:a.git?s3cret", "query"),
        ("-s3cret@git.example.org:a.git", "https://"),
        ("git@-s3cret:a.git", "https://"),
        ("ada:s3cret@git.example.org:a.git", "https://"),
        ("https://git.example.org/a.git?token=s3cret", "query"),
        ("https://git.example.org", "no path"),
        ("https:///a.git", "no host"),
        ("https://git.example.org:x/a.git", "not a URL"),
        ("file:///etc", "https://"),
        ("ext::sh -c id", "https://"),
        ("/home/ada/app", "https://"),
        ("https://git.example.org/a\n.git", "https://"),
    ],
)
async def test_a_url_that_cannot_be_fetched_is_refused_and_never_repeated(front, url, reason):
    answer = await front.client.post("/jobs", json={"task": "x", "repo": {"url": url}})
    status, errors = await refused(answer)
    assert (status, list(errors)) == (422, ["repo.url"])
    assert reason in errors["repo.url"]
    assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("url", "stored_url"),
    [
        ("ssh://git.example.org/team/app.git", None),
        ("ssh://git@git.example.org:2222/team/app.git", None),
        ("ssh://ada_1@[2001:db8::1]:22/~/app", None),
        ("git@git.example.org:team/app.git", "ssh://git@git.example.org/team/app.git"),
        ("git@git.example.org:/srv/app.git", "ssh://git@git.example.org/srv/app.git"),
        ("git@git.example.org:2222/app", "ssh://git@git.example.org/2222/app"),
    ],
)
async def test_an_ssh_address_is_stored_as_a_url(front, url, stored_url):
    job_id = await front.submit(repo={"url": url})
    assert (await front.job(job_id))["spec"]["repo"]["url"] == stored_url or url


@pytest.mark.parametrize(
    "ref", ["", "--upload-pack=id", "a..b", "a b", "main~1", "a:b", "x.lock", "@{1}", "a*", "/a"]
)
async def test_an_invalid_ref_is_refused(front, ref):
    status, errors = await refused_json(front, repo={"url": URL, "ref": ref})
    assert (status, list(errors)) == (422, ["repo.ref"])


@pytest.mark.parametrize("ref", ["main", "feature/a-b", "v1.2", "c0ffee" * 6, "größe"])
async def test_a_valid_ref_name_of_git_is_accepted(front, ref):
    await front.submit(repo={"url": URL, "ref": ref})


async def test_an_uploaded_bundle_is_kept_as_long_as_the_job(front):
    answer = await upload(front)
    assert answer.status_code == 202, answer.text
    repo = (await front.job(answer.json()["id"]))["spec"]["repo"]
    assert repo == {"url": None, "ref": None, "bundle": DIGEST}
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await front.services.blobs.get(DIGEST) == BUNDLE


async def test_a_repeated_upload_is_the_same_job_unless_the_bundle_differs(front):
    headers = {"Idempotency-Key": "once"}
    first, again = [await upload(front, headers=headers) for _ in range(2)]
    assert first.json()["id"] == again.json()["id"]
    other_answer = await upload(front, *parts(BUNDLE + b"x"), headers=headers)
    assert other_answer.json()["type"] == "/problems/idempotency-key-reused"


async def test_a_bundle_that_a_job_started_from_need_not_be_sent_again(front):
    first = (await upload(front)).json()["id"]
    reference = {"digest": DIGEST, "job_id": first}
    job_id = await front.submit(repo={"bundle": reference, "ref": "main"})
    assert (await front.job(job_id))["spec"]["repo"]["bundle"] == DIGEST
    await front.client.post(f"/jobs/{first}/cancel")
    assert (await front.client.delete(f"/jobs/{first}")).status_code == 204
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await front.services.blobs.get(DIGEST) == BUNDLE


async def test_a_digest_does_not_give_access_to_another_jobs_bytes(front):
    other_job = await front.submit(files={"a.bundle": "x"})
    for digest in (DIGEST, hashlib.sha256(b"x").hexdigest()):
        reference = {"digest": digest, "job_id": other_job}
        status, errors = await refused_json(front, repo={"bundle": reference})
        assert (status, list(errors)) == (422, ["repo.bundle.digest"])
    reference = {"digest": DIGEST, "job_id": "0" * 20}
    answer = await front.client.post("/jobs", json={"task": "x", "repo": {"bundle": reference}})
    assert answer.status_code == 404


async def test_a_repository_has_exactly_one_source(front):
    reference = {"digest": DIGEST, "job_id": "0" * 20}
    assert await refused_json(front, repo={"ref": "main"}) == (
        422,
        {"repo": "it needs a url or a bundle"},
    )
    assert (
        "leave one"
        in (await refused_json(front, repo={"url": URL, "bundle": reference}))[1]["repo"]
    )
    answer = await upload(front, *parts(repo={"url": URL}))
    assert "leave one" in (await refused(answer))[1]["bundle"]
    sent = parts(repo={"ref": "v1"})
    answer = await upload(front, *sent)
    assert answer.status_code == 202, answer.text
    assert (await refused(await upload(front, *sent, sent[1])))[0] == 422
    as_text = ("bundle", (None, "# v2 git bundle"))
    assert "file name" in (await refused(await upload(front, sent[0], as_text)))[1]["bundle"]


async def test_an_invalid_or_too_large_bundle_is_refused(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, max_files_bytes=100)) as front:
        answer = await upload(front, *parts(b"PK\x03\x04"))
        assert "git bundle create" in (await refused(answer))[1]["bundle"]
        errors = (await refused(await upload(front, *parts(BUNDLE + b"x" * 100))))[1]
        assert "FETTLE_MAX_FILES_BYTES" in errors["files"]


INHERITED = {
    "repo": {"url": URL, "ref": "main", "bundle": None},
    "setup": "make deps",
    "image": None,
    "deliver": {"branch": True, "pull_request": True},
}


async def follow_up(front, conversation_id, **fields):
    job_id = await front.submit(task="go on", conversation_id=conversation_id, **fields)
    spec = (await front.job(job_id))["spec"]
    return {name: spec[name] for name in INHERITED}


async def test_a_follow_up_inherits_the_repository_and_its_options(front):
    deliver = {"pull_request": True}
    first = await front.submit(
        repo={"url": URL, "ref": "main"}, setup="make deps", deliver=deliver, review=True
    )
    assert await follow_up(front, first) == INHERITED
    other_ref = {**INHERITED["repo"], "ref": "stable"}
    for repo in ({"ref": "stable"}, {"url": URL, "ref": "stable"}):
        assert await follow_up(front, first, repo=repo) == {**INHERITED, "repo": other_ref}
    changed = await follow_up(front, first, setup="", deliver=None)
    assert changed == {**INHERITED, "repo": other_ref, "setup": "", "deliver": None}
    assert await follow_up(front, first) == changed, "the newest job counts"
    over_ssh = {"url": "git@git.example.org:team/app", "ref": None}
    assert (await follow_up(front, first, repo=over_ssh))["repo"] == {
        "url": "ssh://git@git.example.org/team/app",
        "ref": None,
        "bundle": None,
    }
    with_delivery = await follow_up(front, first, deliver={"branch": True})
    assert with_delivery["deliver"] == {"branch": True, "pull_request": False}


async def test_a_follow_up_is_for_the_branch_that_the_delivery_was_for(front):
    first = await front.submit(repo={"url": URL, "ref": "v1"}, deliver={})
    lease = await front.claim(first)
    delivered = replace(RESULT, delivery=Push("fettle/j", "d" * 40, base="main"))
    done(await front.services.operations.succeed(lease, delivered, "changed"))
    assert (await follow_up(front, first))["repo"]["ref"] == "main"
    assert (await follow_up(front, first, repo={"ref": "v1"}))["repo"]["ref"] == "v1"


async def test_a_follow_up_names_no_other_repository(front):
    on_url = {"conversation_id": await front.submit(repo={"url": URL})}
    uploaded = (await upload(front)).json()["id"]
    plain = {"conversation_id": await front.submit()}
    other = "https://git.example.org/team/other.git"
    bundle = {"digest": DIGEST, "job_id": uploaded}
    refusals = {
        "repo.url": await refused_json(front, repo={"url": other}, **on_url),
        "repo.bundle": await refused_json(front, repo={"bundle": bundle}, **on_url),
        "bundle": await refused(await upload(front, *parts(**on_url))),
        "repo": await refused_json(front, repo={"url": URL}, **plain),
    }
    for field, (status, errors) in refusals.items():
        assert (status, list(errors)) == (422, [field])
        assert "leave out `conversation_id` to begin a conversation" in errors[field]
        assert (URL in errors[field]) == (field != "repo")
    assert list((await refused(await upload(front, *parts(**plain))))[1]) == ["bundle"]
    status, errors = await refused_json(front, conversation_id=uploaded, repo={"url": URL})
    assert (status, list(errors)) == (422, ["repo.url"])
    answer = await front.client.post(
        "/jobs", json={"task": "x", "conversation_id": "c", "repo": {"url": URL}}
    )
    assert answer.status_code == 404


async def test_a_follow_up_on_an_upload_has_the_last_bundle_or_a_new_one(front):
    first = (await upload(front, *parts(repo={"ref": "v1"}))).json()["id"]
    stored = {"url": None, "ref": "v1", "bundle": DIGEST}
    assert (await follow_up(front, first))["repo"] == stored
    newer = BUNDLE + b"newer"
    sent = await upload(front, *parts(newer, conversation_id=first))
    repo = {"url": None, "ref": None, "bundle": hashlib.sha256(newer).hexdigest()}
    assert (await front.job(sent.json()["id"]))["spec"]["repo"] == repo
    assert (await follow_up(front, first))["repo"] == repo
    kept = {"digest": DIGEST, "job_id": first}
    assert (await follow_up(front, first, repo={"bundle": kept}))["repo"]["bundle"] == DIGEST
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await front.services.blobs.get(repo["bundle"]) == newer


async def test_an_inherited_delivery_needs_the_review_that_the_operator_requires(
    redis_url, tmp_path
):
    settings = settings_for(redis_url, tmp_path, deliver_needs_review=True)
    async with started(settings) as front:
        first = await front.submit(repo={"url": URL}, deliver={}, review=True)
        status, errors = await refused_json(front, conversation_id=first)
        assert (status, list(errors)) == (422, ["review"])
        assert "send review: true" in errors["review"]
        await front.submit(conversation_id=first, review=True)
        await front.submit(conversation_id=first, deliver=None)


async def test_a_repeated_follow_up_is_the_same_job_also_without_its_conversation(front):
    first = await front.submit(repo={"url": URL})
    request = {"task": "go on", "conversation_id": first}
    headers = {"Idempotency-Key": "once"}
    sent = (await front.client.post("/jobs", json=request, headers=headers)).json()["id"]
    await front.submit(conversation_id=first, repo={"ref": "other"})
    again = await front.client.post("/jobs", json=request, headers=headers)
    assert (again.json()["id"], again.headers["idempotency-replayed"]) == (sent, "true")
    undelivered = {**request, "deliver": None}
    other = await front.client.post("/jobs", json=undelivered, headers=headers)
    assert other.json()["type"] == "/problems/idempotency-key-reused"


CHECKS = {"files": {"test_a.py": "def test(): pass\n"}}


async def test_a_job_on_a_repository_takes_checks_and_a_tester(front):
    job_id = await front.submit(repo={"url": URL}, checks=CHECKS, write_tests=True)
    spec = (await front.services.store.load(job_id)).record.spec
    assert (spec.checks.paths, spec.write_tests) == (("test_a.py",), True)


async def test_a_verification_has_the_repository_and_the_changes_of_its_job(front):
    job_id = (await upload(front, *parts(setup="make deps", checks=CHECKS))).json()["id"]
    lease = await front.claim(job_id)
    blobs = front.services.blobs
    entries = {"a.py": FileEntry(await blobs.put(b"1"), 1)}
    work = Manifest(entries, frozenset({"old.py"}), "c0ffee", {"b.py": "a.py"})
    await front.services.store.write(
        job_id, lease.epoch, Writes(workspace=await blobs.put(work.dump()))
    )
    request = {"job_id": job_id, "files": {"old.py": "2"}, "checks": CHECKS}
    answer = await front.client.post("/verifications", json=request)
    assert answer.status_code == 202, answer.text
    record = (await front.services.store.load(answer.json()["id"])).record
    assert (record.spec.repo, record.spec.setup) == (Repo(bundle=DIGEST), "make deps")
    merged = await load(blobs, record.workspace)
    assert (list(merged.files), merged.removed) == (["a.py", "old.py"], frozenset())
    assert (merged.base, merged.links) == ("c0ffee", {"b.py": "a.py"})
    done(await front.services.operations.succeed(lease, RESULT, "did it"))
    assert (await front.client.delete(f"/jobs/{job_id}")).status_code == 204
    await remove_unreferenced(front.services.store, blobs, AT_ONCE)
    assert [await blobs.get(digest) for digest in (DIGEST, entries["a.py"].digest)] == [
        BUNDLE,
        b"1",
    ]


async def test_a_retry_keeps_the_repository(front):
    job_id = (await upload(front)).json()["id"]
    await front.client.post(f"/jobs/{job_id}/cancel")
    answer = await front.client.post(f"/jobs/{job_id}/retry")
    again = (await front.services.store.load(answer.json()["id"])).record
    assert again.spec.repo == Repo(bundle=DIGEST)
    assert (await front.client.delete(f"/jobs/{job_id}")).status_code == 204
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    assert await front.services.blobs.get(DIGEST) == BUNDLE


async def test_a_setup_goes_with_a_repository_and_a_retry_can_change_it(front):
    for setup in ("pip install a", ""):
        status, errors = await refused_json(front, setup=setup)
        assert (status, list(errors)) == (422, ["setup"])
    assert (await refused_json(front, repo={"url": URL}, setup="a\0b"))[0] == 422
    plain, job_id = await front.submit(), await front.submit(repo={"url": URL}, setup="make deps")
    assert (await front.job(plain))["spec"]["setup"] is None
    for each_job in (plain, job_id):
        await front.client.post(f"/jobs/{each_job}/cancel")

    async def retried(job_id, **fields):
        return await front.client.post(f"/jobs/{job_id}/retry", json=fields)

    specs = [
        (await front.job((await retried(job_id, **fields)).json()["id"]))["spec"]["setup"]
        for fields in ({}, {"setup": ""}, {"setup": None}, {"max_tokens": 9})
    ]
    assert specs == ["make deps", "", None, "make deps"]
    assert (await retried(plain, setup="make")).status_code == 422
    assert (await retried(plain, max_tokens=9)).status_code == 202


async def test_a_change_is_delivered_only_to_the_url_and_a_retry_delivers_it_too(front):
    job_id = await front.submit(repo={"url": URL}, deliver={"pull_request": True})
    assert (await front.job(job_id))["spec"]["deliver"] == {"branch": True, "pull_request": True}
    await front.client.post(f"/jobs/{job_id}/cancel")
    again = (await front.client.post(f"/jobs/{job_id}/retry")).json()["id"]
    deliver = (await front.services.store.load(again)).record.spec.deliver
    assert deliver == Deliver(pull_request=True)
    plain = await front.submit(repo={"url": URL}, deliver={})
    assert (await front.job(plain))["spec"]["deliver"] == {"branch": True, "pull_request": False}
    for fields in (
        {"deliver": {"branch": True}},
        {"repo": {"url": URL}, "deliver": {"branch": False}},
    ):
        status, errors = await refused_json(front, **fields)
        assert (status, list(errors)) == (422, ["deliver"])
    answer = await upload(front, *parts(deliver={"pull_request": True}))
    assert "repo.url" in (await refused(answer))[1]["deliver"]


@pytest.mark.parametrize("is_ended", [True, False])
async def test_the_patch_is_of_the_open_review_or_of_the_result(front, is_ended):
    job_id = await front.patched(PATCH, is_ended=is_ended)
    job = await front.job(job_id)
    about = (job["result"] if is_ended else job["review"]["payload"])["patch"]
    assert (about["digest"], about["size"]) == (hashlib.sha256(PATCH).hexdigest(), len(PATCH))
    for name, content in (("patch", PATCH), ("bundle", b"bundle of " + PATCH)):
        answer = await front.client.get(f"/jobs/{job_id}/{name}")
        assert (answer.status_code, answer.content) == (200, content)
        assert answer.headers["content-disposition"].startswith("attachment")
        assert f"{job_id}.{name}" in answer.headers["content-disposition"]
        headers = {"If-None-Match": answer.headers["etag"]}
        again = await front.client.get(f"/jobs/{job_id}/{name}", headers=headers)
        assert (again.status_code, again.content) == (304, b"")


async def test_patch_and_bundle_stay_as_long_as_the_job(front):
    job_id = await front.patched(PATCH, is_ended=True)
    await remove_unreferenced(front.services.store, front.services.blobs, AT_ONCE)
    for name in ("patch", "bundle"):
        assert (await front.client.get(f"/jobs/{job_id}/{name}")).status_code == 200


async def test_a_decision_is_about_one_patch(front):
    digests = set()
    for patch in (PATCH, PATCH + b" "):
        review = (await front.job(await front.patched(patch)))["review"]
        digests.add(review["digest"])
    assert len(digests) == 2


async def test_a_missing_file_is_a_404_with_the_reason(front):
    async def explain(job_id, name="patch"):
        answer = await front.client.get(f"/jobs/{job_id}/{name}")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
        return answer.json()["detail"]

    plain, waits = await front.submit(), await front.submit(repo={"url": URL})
    assert "has changed no file" in await explain(plain)
    assert "the job is queued" in await explain(waits)
    assert "did not start from a bundle" in await explain(waits, "bundle?at=start")
    await front.finish(waits)
    assert "succeeded, and has no bundle" in await explain(waits, "bundle")
    await front.client.post(f"/jobs/{plain}/cancel")
    assert "this job does not exist" in await explain("0" * 20)


async def test_the_uploaded_bundle_of_a_job_can_be_downloaded(front):
    job_id = (await upload(front)).json()["id"]
    assert (await front.client.get(f"/jobs/{job_id}/bundle?at=start")).content == BUNDLE


async def test_another_tenant_has_no_patch_and_no_bundle(front):
    job_id = await front.patched(PATCH, is_ended=True)
    secret = await front.key("read", "submit", tenant="other")
    async with front.with_key(secret) as stranger:
        for path in ("patch", "bundle", "bundle?at=start"):
            assert (await stranger.get(f"/jobs/{job_id}/{path}")).status_code == 404
        reference = {"digest": DIGEST, "job_id": (await upload(front)).json()["id"]}
        answer = await stranger.post("/jobs", json={"task": "x", "repo": {"bundle": reference}})
        assert answer.status_code == 404
