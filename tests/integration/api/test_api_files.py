"""Workspaces, artifacts and the texts of runs over HTTP."""

from __future__ import annotations

import io
import tarfile

import pytest
from support.pages.api_front import a_run, done, settings_for, started, text

from jobs.blobs import manifest
from jobs.model.review import Review, ReviewKind
from jobs.store import Writes


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_the_present_workspace_is_reported(front):
    job_id = await front.submit(files={"a.py": "1", "b/c.txt": "two"})
    listed = (await front.client.get(f"/jobs/{job_id}/files")).json()
    assert [(file["path"], file["size"]) for file in listed["files"]] == [
        ("a.py", 1),
        ("b/c.txt", 3),
    ]
    assert (await front.client.get(listed["files"][1]["href"])).text == "two"
    lease = await front.claim(job_id)
    changed = await manifest.save(front.services.blobs, {"a.py": b"new"})
    await front.services.store.write(job_id, lease.epoch, Writes(workspace=changed))
    assert (await front.client.get(f"/jobs/{job_id}/files/a.py")).text == "new"
    assert (await front.client.get(f"/jobs/{job_id}/files/b/c.txt")).status_code == 404


async def test_files_may_have_every_name_that_git_accepts(front):
    names = [
        "Shot 9.41\u202fPM.png",
        "a\u00a0b",
        "\u3000",
        "\U0001f468\u200d\U0001f469.md",
        "\u05d0\u200f",
    ]
    job_id = await front.submit(files=dict.fromkeys(names, "x"))
    listed = (await front.client.get(f"/jobs/{job_id}/files")).json()["files"]
    assert sorted(file["path"] for file in listed) == sorted(names)
    for file in listed:
        answer = await front.client.get(file["href"])
        assert (answer.status_code, answer.text) == (200, "x")
    for name in ("a\u202eb", "a\u2028b", "a\x9bb", "a\u2066b"):
        refused = await front.client.post("/jobs", json={"task": "x", "files": {name: ""}})
        assert refused.status_code == 422
        assert "turn the direction" in refused.text


async def test_links_are_listed_and_never_followed(front):
    job_id = await front.submit(files={"a.py": "1"})
    lease = await front.claim(job_id)
    blobs = front.services.blobs
    start = await manifest.load(blobs, (await front.services.store.load(job_id)).record.workspace)
    after = start.with_files({}, frozenset(), links={"to": "a.py", "out": "/etc/passwd"})
    changed = await blobs.put(after.dump())
    await front.services.store.write(job_id, lease.epoch, Writes(workspace=changed))
    listed = (await front.client.get(f"/jobs/{job_id}/files")).json()
    assert [file["path"] for file in listed["files"]] == ["a.py"]
    assert listed["links"] == {"to": "a.py", "out": "/etc/passwd"}
    for path in ("to", "out"):
        assert (await front.client.get(f"/jobs/{job_id}/files/{path}")).status_code == 404
    archive = await front.client.get(f"/jobs/{job_id}/files.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
        assert tar.getnames() == ["a.py"]


async def test_the_files_of_checks_are_reported_separately_from_the_workspace(front):
    checks = {"files": {"test_a.py": "def test(): pass\n"}}
    job_id = await front.submit(files={"a.py": "1"}, checks=checks)
    listed = (await front.client.get(f"/jobs/{job_id}/files?at=checks")).json()["files"]
    assert [file["path"] for file in listed] == ["test_a.py"]
    assert (await front.client.get(listed[0]["href"])).text == "def test(): pass\n"
    assert (await front.client.get(f"/jobs/{job_id}/files/test_a.py")).status_code == 404
    other_job = await front.submit()
    assert (await front.client.get(f"/jobs/{other_job}/files?at=checks")).json()["files"] == []


async def test_a_job_without_files_has_an_empty_workspace(front):
    job_id = await front.submit()
    nothing = {"files": [], "links": {}, "digest": None}
    assert (await front.client.get(f"/jobs/{job_id}/files")).json() == nothing
    archive = await front.client.get(f"/jobs/{job_id}/files.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
        assert tar.getnames() == []


async def test_the_archive_has_regular_files_and_the_same_bytes_each_time(front):
    files = {"z.py": "1\n", "a/ü.txt": "two", "big": "x" * 300_000}
    job_id = await front.submit(files=files)
    archive = await front.client.get(f"/jobs/{job_id}/files.tar.gz")
    assert archive.headers["content-type"] == "application/gzip"
    assert f"{job_id}.tar.gz" in archive.headers["content-disposition"]
    with tarfile.open(fileobj=io.BytesIO(archive.content)) as tar:
        members = tar.getmembers()
        assert [member.name for member in members] == ["a/ü.txt", "big", "z.py"]
        assert all(member.isreg() and member.mtime == 0 and member.uid == 0 for member in members)
        assert {m.name: tar.extractfile(m).read().decode() for m in members} == files
    other_job = await front.submit(files=dict(reversed(files.items())))
    assert (await front.client.get(f"/jobs/{other_job}/files.tar.gz")).content == archive.content
    headers = {"If-None-Match": archive.headers["etag"]}
    again = await front.client.get(f"/jobs/{job_id}/files.tar.gz", headers=headers)
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["../a", "%2e%2e/a", "/etc/passwd", "a%00", "a/", "A.PY"])
async def test_only_names_of_the_manifest_are_files(front, path):
    job_id = await front.submit(files={"a.py": "1", "a/b": "2"})
    assert (await front.client.get(f"/jobs/{job_id}/files/{path}")).status_code == 404


async def test_html_and_svg_of_a_workspace_are_never_active(front):
    job_id = await front.submit(files={"x.html": "<script>", "x.svg": "<svg/>", "x.py": "1"})
    for name in ("x.html", "x.svg", "x.py"):
        headers = (await front.client.get(f"/jobs/{job_id}/files/{name}")).headers
        assert headers["content-disposition"].startswith("attachment")
        assert headers["content-security-policy"] == "sandbox; default-src 'none'"
        assert headers["x-content-type-options"] == "nosniff"


async def test_an_artifact_is_its_newest_version(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    old = await front.store_artifact("out/plot.png", b"old", "image/png")
    new = await front.store_artifact("out/plot.png", b"new", "image/png")
    page = await front.store_artifact("page.html", b"<script>", "text/html")
    await front.run(lease, 1, artifacts=[old, page])
    await front.run(lease, 2, artifacts=[new])
    listed = (await front.client.get(f"/jobs/{job_id}/artifacts")).json()["artifacts"]
    assert [artifact["name"] for artifact in listed] == ["out/plot.png", "page.html"]
    plot = await front.client.get(listed[0]["href"])
    assert (plot.content, plot.headers["content-type"]) == (b"new", "image/png")
    assert plot.headers["etag"] == f'"{new["digest"]}"'
    assert plot.headers["content-disposition"].startswith("inline")
    same = await front.client.get(
        listed[0]["href"], headers={"If-None-Match": plot.headers["etag"]}
    )
    assert (same.status_code, same.content) == (304, b"")
    assert same.headers["etag"] == plot.headers["etag"]
    html = await front.client.get(listed[1]["href"])
    assert html.headers["content-disposition"].startswith("attachment")
    assert (await front.client.get(f"/jobs/{job_id}/artifacts/none")).status_code == 404
    for artifact, content in ((old, b"old"), (new, b"new")):
        by_digest = {"digest": artifact["digest"]}
        version = await front.client.get(listed[0]["href"], params=by_digest)
        assert (version.status_code, version.content) == (200, content)
    for digest, status in ((page["digest"], 404), ("0" * 64, 404), ("x", 422)):
        answer = await front.client.get(listed[0]["href"], params={"digest": digest})
        assert answer.status_code == status


async def test_the_full_text_of_a_shortened_output_can_be_read(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    digest = await front.services.blobs.put(b"a long\noutput")
    cut = text("a…", digest=digest)
    await front.run(lease, 3, stdout=cut, stderr=text("short <b>"))
    stdout = await front.client.get(f"/jobs/{job_id}/runs/3/stdout")
    assert (stdout.text, stdout.headers["content-type"]) == (
        "a long\noutput",
        "text/plain; charset=utf-8",
    )
    assert (await front.client.get(f"/jobs/{job_id}/runs/3/stderr")).text == "short <b>"
    assert (await front.client.get(f"/jobs/{job_id}/runs/4/stdout")).status_code == 404
    assert (await front.client.get(f"/jobs/{job_id}/runs/3/stdin")).status_code == 422
    assert (await front.client.get(f"/jobs/{job_id}/runs/x/code")).status_code == 422


async def test_lost_bytes_are_reported_as_a_problem(front):
    job_id = await front.submit()
    lease = await front.claim(job_id)
    missing = {"name": "a.png", "digest": "0" * 64, "size": 1, "media_type": "image/png"}
    await front.run(lease, 1, artifacts=[missing])
    answer = await front.client.get(f"/jobs/{job_id}/artifacts/a.png")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/bytes-missing")


async def test_an_open_review_links_to_its_artifacts(front):
    job_id = await front.submit(review=True)
    lease = await front.claim(job_id)
    artifact = await front.store_artifact("p.png", b"png", "image/png")
    run = a_run(artifacts=[artifact])
    await front.add_events(lease, ("run_finished", run))
    payload = {"plan": ["one"], "answer": "42", "runs": [run], "artifacts": [artifact]}
    review = Review("r1", ReviewKind.REVIEW, payload, await front.services.store.now())
    done(await front.services.operations.pause(lease, review))
    review_payload = (await front.job(job_id))["review"]["payload"]
    assert (await front.client.get(review_payload["artifacts"][0]["href"])).content == b"png"
    assert (
        await front.client.get(review_payload["runs"][0]["artifacts"][0]["href"])
    ).content == b"png"
    assert (await front.client.get(review_payload["runs"][0]["code"]["href"])).text == "print(42)"


async def test_a_disk_that_refuses_writes_is_a_503_without_a_job(redis_url, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "blobs").write_text("in the way")
    async with started(settings_for(redis_url, tmp_path)) as front:
        answer = await front.client.post("/jobs", json={"task": "x", "files": {"a": "1"}})
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/storage-unavailable")
        assert answer.json()["retryable"] is True
        assert str(tmp_path) not in answer.text
        assert (await front.client.get("/jobs")).json()["total"] == 0
        assert (await front.client.post("/jobs", json={"task": "x"})).status_code == 202
