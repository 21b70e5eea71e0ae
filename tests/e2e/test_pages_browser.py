"""The pages in a real browser, with a real service, worker and sandbox, and a recorded model."""

from __future__ import annotations

import json
import re
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect
from support.graph.graphs import PLAN, call, turn
from support.pages.chromium import DESK, PHONE, visiting
from support.processes.api_process import ApiProcess, api_environment, running
from support.processes.deployment import running_deployment

from cli.local import ports
from jobs.redis.keys import JobKeys
from lab.browser import launched
from settings.base import DEVELOPMENT_KEY

pytestmark = pytest.mark.e2e

PLOT = """\
import struct, time, zlib
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\\0" + bytes([0, 90, 160] * 64) for _ in range(48))
head = struct.pack(">IIBBBBB", 64, 48, 8, 2, 0, 0, 0)
png = b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", head)
png += chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
open("plot.png", "wb").write(png)
print("\\x1b[32mplotted\\x1b[0m 48 rows")
"""
EVIL = "<img src=x onerror='window.hacked=1'><script>window.hacked=1</script>"
HOSTILE = f"""\
evil = {EVIL!r}
open("<img src=x onerror=hacked=1>.txt", "w").write(evil)
open("act.svg", "w").write(
    '<svg xmlns="http://www.w3.org/2000/svg" width="60" height="40" onload="top.hacked=1">'
    '<script>top.hacked=1;document.documentElement.setAttribute("width","1")</script>'
    '<rect width="60" height="40" fill="#057" onclick="top.hacked=1"/>'
    '<image href="/app/never-asked-for" width="9" height="9"/>'
    '<foreignObject width="9" height="9"><body xmlns="http://www.w3.org/1999/xhtml">'
    '<img src="x" onerror="top.hacked=1"/></body></foreignObject></svg>'
)
open("act.html", "w").write(evil)
print("\\x1b[31m" + evil + "\\x1b]8;;javascript:hacked=1\\x07link\\x1b]8;;\\x07")
raise ValueError(evil)
"""


def story(first: str, second: str, answer: str = "It is done.") -> list[Any]:
    """The recorded turns of a job that the critic sends back once."""
    return [
        PLAN,
        turn("executor", "The task", call("python", code=first), after=0),
        turn("executor", "", answer, after=1),
        turn("executor", "", call("python", code=second), after=2),
        turn("executor", "", "Now it is better.", after=3),
    ]


TALKS = f"""\
import time
evil = {EVIL!r}
for number in range(70):
    end = chr(13) if number % 2 else chr(10)
    print(chr(27) + "[32mpart", number, chr(27) + "[0mof", evil, chr(0x202E), end=end)
    time.sleep(0.15)
"""


@dataclass
class Site:
    """The service, and the browser that shows its pages."""

    deployment: Any
    env: dict[str, str]
    folder: Path
    browser: Browser
    stack: ExitStack
    api: ApiProcess = field(init=False)

    def start(self) -> None:
        log = self.folder / f"api-{len(list(self.folder.glob('api-*.log')))}.log"
        self.api = self.stack.enter_context(running(self.env, log))

    def log_text(self) -> str:
        return "\n".join(log.read_text() for log in self.folder.glob("api-*.log"))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.env['FETTLE_PORT']}"

    def call(self, method: str, path: str, key: str = DEVELOPMENT_KEY, **more: Any) -> Any:
        headers = {"X-API-Key": key}
        answer = httpx.request(method, self.url + path, headers=headers, timeout=10, **more)
        answer.raise_for_status()
        return answer.json()

    def submit(self, model: str, task: str = "Do it.", **spec: Any) -> str:
        body = {"task": task, "model": model, "review": True, **spec}
        return self.call("POST", "/jobs", json=body)["id"]

    def until(self, job_id: str, *statuses: str, seconds: float = 30) -> dict[str, Any]:
        ends = time.monotonic() + seconds
        while (job := self.call("GET", f"/jobs/{job_id}"))["status"] not in statuses:
            assert time.monotonic() < ends, (job["status"], self.deployment.logs()[-3000:])
            time.sleep(0.1)
        return job

    def key(self, name: str, *scopes: str) -> str:
        return self.call("POST", "/keys", json={"name": name, "scopes": list(scopes)})["secret"]

    def visiting(self, **how: Any) -> Any:
        return visiting(self.browser, self.url, **how)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    with ExitStack() as stack:
        deployment = stack.enter_context(running_deployment(folder))
        for name, turns in {
            "plot": story(PLOT, PLOT.replace("48", "40")),
            "slow": story("import time\nfor n in range(5):\n    time.sleep(0.4)\nprint(n)", "1"),
            "talks": story(TALKS, "1"),
            "fails": story("print('no'); raise SystemExit(1)", "1"),
            "evil": story(HOSTILE, "1", f"{EVIL}\n\n[a](javascript:hacked=1) ![b](x.svg)"),
        }.items():
            deployment.record(name, turns)
        deployment.worker()
        port = str(ports.free(1)[0])
        env = api_environment(
            deployment.redis_url, folder, broker_url=deployment.broker_url, port=port
        )
        browser = stack.enter_context(launched())
        site = Site(deployment, env, folder, browser, stack)
        site.start()
        yield site


SECTION_IDS = ("changes", "evidence", "activity", "files")


def section(page: Any, name: str) -> None:
    """Open a section of a job's page."""
    page.get_by_label("Sections of the job").get_by_role("link", name=name).click()
    expect(page.locator(f"#{name.lower()}")).to_be_visible()


def test_from_a_link_to_an_approval(site):
    with site.visiting() as visitor:
        page = visitor.go(site.call("POST", "/sign-in-links")["path"])
        expect(page.locator("h1")).to_contain_text("Sign in as development")
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("link", name="New job").first.click()
        page.fill("#task", "Plot something.")
        page.reload()
        expect(page.locator("#task")).to_have_value("Plot something.")
        page.locator("summary", has_text="another model").click()
        page.fill("#other_model", "nonsense")
        page.get_by_role("button", name="Submit").click()
        expect(page.locator("#wrong-model")).to_contain_text("provider:model")
        expect(page.locator("#model")).to_be_focused()
        page.fill("#other_model", "")
        page.select_option("#model", "recording:plot")
        page.get_by_label("Require approval").check()
        page.locator("summary", has_text="Files").click()
        page.set_input_files("#files", {"name": "in.txt", "mimeType": "", "buffer": b"in"})
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url("**/app/jobs/*")
        page.evaluate("window.here = 1")
        expect(page.locator("#review-panel")).to_be_visible()
        expect(page.locator("#says img")).to_have_js_property("naturalWidth", 64)
        section(page, "Evidence")
        expect(page.locator("#evidence .output").first).to_contain_text("plotted 48 rows")
        page.keyboard.press("r")
        page.keyboard.type("Fewer rows, please.")
        page.get_by_role("button", name="Send back", exact=True).last.click()
        expect(page.locator(".change .d-added").first).to_contain_text("40")
        expect(page.locator("#evidence")).to_contain_text("Fewer rows, please.")
        page.keyboard.press("a")
        digest = page.locator("#approve .digest").inner_text()
        page.keyboard.press("Enter")
        expect(page.locator("#strip")).to_contain_text("Approved by development")
        expect(page.locator("#strip")).to_contain_text(digest)
        section(page, "Activity")
        expect(page.locator(".event-succeeded")).to_be_visible()
        assert page.evaluate("window.here") == 1
        decided = site.call("GET", f"/jobs/{page.url.rpartition('/')[2]}")["decisions"]
        assert decided[-1]["digest"] == digest
        assert re.fullmatch(r"[0-9a-f]{64}", digest)
        section(page, "Files")
        page.locator(".files summary").click()
        expect(page.locator(".files-body")).to_contain_text("in.txt")


HEAR = """button => {
  window.said = new Promise((done) => {
    new MutationObserver(() => done(button.textContent)).observe(button, { childList: true });
  });
}"""
"""Records the text of a button, which is visible for too short a time for polling."""


def test_an_edit_runs_before_it_counts(site):
    job_id = site.submit("recording:plot", "The task is to be edited.")
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}")
        expect(page.locator("#review-panel")).to_be_visible()
        page.keyboard.press("e")
        editor = page.locator("#edit-code")
        expect(editor).to_be_focused()
        assert "zlib" in editor.input_value()
        code = "print('by hand')\n" + "# and a remark\n" * 500
        editor.fill(code)
        page.get_by_role("button", name="Run it").click()
        section(page, "Evidence")
        expect(page.locator(".evidence")).to_contain_text("edited by development")
        expect(page.locator(".evidence .output")).to_have_text("by hand\n")
        assert site.call("GET", f"/jobs/{job_id}")["status"] == "awaiting_review"
        visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
        copy = page.locator(".evidence .copy").first
        copy.evaluate(HEAR)
        copy.click()
        assert page.evaluate("said") == "Copied"
        assert page.evaluate("navigator.clipboard.readText()") == code


def test_a_page_misses_no_event_while_the_service_restarts(site):
    job_id = site.submit("recording:slow", "The task is slow.")
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}#activity")
        expect(page.locator(".event-planned")).to_be_visible()
        page.evaluate("window.here = 1")
        site.api.stop()
        expect(page.locator("#link-state")).to_be_visible()
        site.start()
        expect(page.locator("#review-panel")).to_be_visible(timeout=30_000)
        expect(page.locator("#link-state")).to_be_hidden()
        report = site.call("GET", f"/jobs/{job_id}")["last_event"]
        expect(page.locator(f"#e{report}")).to_be_attached()  # a region may be ahead of the events
        numbers = page.eval_on_selector_all("#timeline > li", "all => all.map(e => +e.dataset.seq)")
        assert numbers == list(range(1, report + 1))
        assert page.locator(".event-review_opened").count() == 1
        assert page.evaluate("window.here") == 1


def test_tokens_of_a_model_are_shown_while_they_arrive(site):
    job_id = site.submit("recording:plot", "The task is spoken of.")
    site.until(job_id, "awaiting_review")
    chunk = {"call": "c1", "role": "executor", "part": "text", "try": 1}
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        visitor.page.route("**/changes/shown", lambda route: route.abort(), times=1)
        page = visitor.go(f"/app/jobs/{job_id}")
        spoken = page.locator("#streamed")
        with redis.Redis.from_url(site.deployment.redis_url) as client:
            ends = time.monotonic() + 20
            while not client.pubsub_numsub(JobKeys(job_id).tokens)[0][1]:
                assert time.monotonic() < ends, "the page does not listen"
                time.sleep(0.05)
            for text in (f"one {EVIL}", " two"):
                client.publish(JobKeys(job_id).tokens, json.dumps([{**chunk, "text": text}]))
            expect(spoken).to_have_text(f"executor one {EVIL} two")
            again = {**chunk, "try": 2, "text": "three"}
            client.publish(JobKeys(job_id).tokens, json.dumps([again]))
            expect(spoken).to_have_text("executor three")
            # The arguments of a tool arrive as JSON: code is readable before they are complete.
            for text in (
                '{"code": "print(',
                "\\",
                '"a\\")\\',
                "nb = 1\\u00",
                '3b", "n"',
                ": [1, 2",
                "]",
            ):
                tool = {**chunk, "try": 3, "part": "tool", "text": text}
                client.publish(JobKeys(job_id).tokens, json.dumps([tool]))
            code = page.locator("#streamed .said-tool")
            decoded = 'code:\nprint("a")\nb = 1;\nn:\n[1, 2]'
            expect(code).to_have_text(decoded, use_inner_text=True)
        expect(page.locator("#notice")).to_contain_text("did not answer")
        expect(page.locator(".changes")).to_contain_text("plot.png")
        assert page.evaluate("window.hacked") is None


def test_the_output_of_a_run_is_shown_while_the_run_goes_on(site):
    job_id = site.submit("recording:talks", "The run is slow.")
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}#activity")
        run = page.locator("#streamed > [data-call=r1]")
        lines = run.locator("pre")
        expect(lines).to_contain_text("part 6 of")
        assert page.locator("#e1").is_visible()
        assert not page.locator(".event-run_finished").count()
        expect(run.locator("strong")).to_have_text("python ")
        page.locator("#streamed").scroll_into_view_if_needed()
        expect(run.locator("code")).to_have_text("import time ...")
        expect(run.locator("code")).to_be_in_viewport()  # not scrolled out of its box
        expect(run.locator("time")).to_have_text(re.compile(r"^for [1-9]\d? s$"))
        text = lines.text_content()
        assert "\\u202e" in text  # as in a finished output: hidden signs are spelled out
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert EVIL in text
        assert len(text.split("\n")) <= 12
        expect(page.locator(".event-run_finished").first).to_be_visible(timeout=30_000)
        expect(run).to_have_count(0)
        assert page.evaluate("window.hacked") is None


def test_a_run_in_progress_starts_again_or_is_removed_if_its_worker_is_lost(site):
    job_id = site.submit("recording:plot", "The worker is lost.")
    site.until(job_id, "awaiting_review")
    part = {"call": "r9", "role": "shell", "part": "output", "text": "half", "try": 70}
    with site.visiting() as visitor, redis.Redis.from_url(site.deployment.redis_url) as client:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}#activity")
        run = page.locator("#streamed > [data-call=r9]")
        ends = time.monotonic() + 20
        message = json.dumps([{**part, "command": "make \u202e<b>", "seconds": 70.2}])
        while not client.publish(JobKeys(job_id).tokens, message):
            assert time.monotonic() < ends, "the page does not listen"
            time.sleep(0.05)
        expect(run).to_contain_text("half")
        expect(run.locator("code")).to_have_text("make \\u202e<b>")
        expect(run.locator("time")).to_contain_text("for 1 min 1")
        again = json.dumps([{**part, "try": 1, "text": "anew", "command": "make", "seconds": 0.5}])
        client.publish(JobKeys(job_id).tokens, again)
        expect(run.locator("pre")).to_have_text("anew")
        expect(run.locator("time")).to_contain_text(re.compile("^for [0-5] s$"))
        expect(run).to_have_count(0, timeout=15_000)


def test_reviewers_see_each_others_decisions_and_lose_no_draft(site):
    body = {"model": "recording:plot", "task": "For two.", "review": True, "approvals": 2}
    job_id = site.call("POST", "/jobs", site.key("author", "submit"), json=body)["id"]
    site.until(job_id, "awaiting_review")
    keys = [site.key(name, "read", "review") for name in ("ada", "bob")]
    with site.visiting() as ada, site.visiting() as bob:
        ada.sign_in(keys[0])
        bob.sign_in(keys[1])
        writes = ada.go(f"/app/jobs/{job_id}")
        writes.keyboard.press("r")
        page = bob.go(f"/app/jobs/{job_id}")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        expect(page.locator("#strip")).to_contain_text("You approved already")
        expect(writes.locator("#strip [role=alert]")).to_contain_text("This has changed")
        writes.keyboard.type("are")  # into the open form, and not as a shortcut for another form
        expect(writes.locator("#revise-feedback")).to_have_value("are")
        writes.locator("#edit > summary").click()
        writes.fill("#edit-code", "print('ada')")
        writes.keyboard.press("Escape")
        expect(writes.locator("#strip")).to_contain_text("1 of 2 approvals")
        writes.keyboard.press("e")
        expect(writes.locator("#edit-code")).to_have_value("print('ada')")
        ada.context.route("**/live*", lambda route: route.abort())
        writes.reload()
        writes.keyboard.press("r")
        writes.keyboard.type("Too late.")
        page.keyboard.press("r")
        page.keyboard.type("Another colour.")
        page.get_by_role("button", name="Send back", exact=True).last.click()
        expect(page.locator(".event-decided")).to_contain_text("bob sent it back")
        expect(page.locator("#revise-feedback:visible")).to_have_count(0)
        writes.evaluate(REPLACE_STRIP)
        writes.get_by_role("button", name="Send back", exact=True).last.click()
        expect(writes.locator("#notice")).to_contain_text("bob")
        expect(writes.locator("#notice")).to_contain_text("revise")
        expect(page.locator("#cancel")).to_have_count(0)


def test_a_review_with_the_keyboard_only(site):
    job_id = site.submit("recording:plot", "The task is for a keyboard.")
    site.until(job_id, "awaiting_review")
    with site.visiting() as visitor:
        page = visitor.go("/app/sign-in")
        page.keyboard.type(DEVELOPMENT_KEY)
        page.keyboard.press("Enter")
        page.wait_for_url("**/app")
        assert re.match(r"\(\d+\) Jobs", page.title())
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == f"job-{job_id}":
                break
        expect(page.locator(f"#job-{job_id}")).to_be_focused()
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/app/jobs/{job_id}")
        expect(page.locator("#review-panel")).to_be_visible()
        for opens in (False, True):
            page.locator(".menu summary").focus()
            for key in ("Enter", "Tab", "Space", "Escape", "a"):
                page.keyboard.press(key)
            expect(page.locator("#approve form")).to_be_visible(visible=opens)
        page.keyboard.press("Escape")
        expect(page.locator("#approve form")).to_be_hidden()
        for lose in (
            lambda route: route.abort(),
            lambda route: route.fulfill(status=502, body="<h1>Bad Gateway</h1>"),
        ):
            page.route("**/review", lose)
            page.keyboard.press("a")
            page.keyboard.press("Enter")
            expect(page.locator("#notice")).to_contain_text("may have had no effect")
            page.get_by_role("button", name="Dismiss").press("Enter")
            page.unroute("**/review")
        page.keyboard.press("a")
        page.keyboard.press("Enter")
        expect(page.locator("#strip")).to_contain_text("Approved by development")


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_no_key_overrides_the_evidence(site, size):
    job_id = site.submit("recording:fails", "The task fails. " * 20)
    site.until(job_id, "awaiting_review")
    with site.visiting(viewport=size) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go(f"/app/jobs/{job_id}#activity")
        strip, remark = page.locator(".strip-red"), page.locator("#approve-feedback")
        expect(strip).to_contain_text("evidence fails")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        for part in (strip.locator("h2"), page.locator("#approve > summary")):
            expect(part).to_be_in_viewport(ratio=1)
        if size == DESK:
            assert strip.bounding_box()["y"] >= page.locator(".bar").bounding_box()["height"]
        expect(page.locator("#approve > summary")).to_have_text(re.compile("Override and approve"))
        page.keyboard.press("a")
        expect(remark).to_be_focused()
        for key in ("a", "Enter", "Escape", "a", "Enter", "Control+Enter"):
            page.keyboard.press(key)
        expect(remark).to_have_value(re.compile(r"a\n+"))
        remark.fill("  ")
        page.get_by_role("button", name="Approve anyway").click()
        expect(page.locator("#notice")).to_contain_text("an override needs a remark")
        assert site.call("GET", f"/jobs/{job_id}")["status"] == "awaiting_review"
        remark.fill("The exit code is meant.")
        page.get_by_role("button", name="Approve anyway").click()
        expect(page.locator(".strip-amber")).to_contain_text("The exit code is meant.")
        expect(page.locator(".strip-label")).to_have_text("override")


def test_a_browser_without_scripts_reads_and_decides(site):
    job_id = site.submit("recording:plot", "The task is for a plain browser.")
    site.until(job_id, "awaiting_review")
    with site.visiting() as visitor, site.visiting(java_script_enabled=False) as plain:
        visitor.sign_in(DEVELOPMENT_KEY)
        plain.context.add_cookies(visitor.context.cookies())
        page = plain.go(f"/app/jobs/{job_id}")
        tops = [page.locator(f"#{name}").bounding_box()["y"] for name in SECTION_IDS]
        assert tops == sorted(tops)
        assert page.locator("#strip").bounding_box()["y"] < page.locator("h1").bounding_box()["y"]
        expect(page.locator("#evidence .output").first).to_contain_text("plotted 48 rows")
        page.locator("#revise > summary").click()
        page.fill("#revise-feedback", "Fewer rows.")
        page.locator("#revise button[type=submit]").click()
        page.wait_for_url(f"**/app/jobs/{job_id}")
        site.until(job_id, "awaiting_review")
        page = plain.go(f"/app/jobs/{job_id}")
        page.locator("#approve > summary").click()
        page.locator("#approve button[type=submit]").click()
        site.until(job_id, "succeeded")
        expect(plain.go(f"/app/jobs/{job_id}").locator("#strip")).to_contain_text("Approved by dev")


@pytest.fixture(scope="module")
def hostile(site):
    """A job that tries to run code in the browser, with a hostile feedback."""
    job_id = site.submit("recording:evil", f"The task {EVIL}", labels=[EVIL[:90]])
    review = site.until(job_id, "awaiting_review")["review"]
    decision = {"action": "revise", "feedback": EVIL, "review_id": review["id"]}
    site.call("POST", f"/jobs/{job_id}/review", json=decision)
    site.until(job_id, "awaiting_review")
    failed = site.submit("recording:evil", f"{EVIL} fails", review=False)
    site.until(failed, "failed", "succeeded")
    return job_id, failed


def test_no_content_of_a_job_is_active(site, hostile):
    urls = []
    with site.visiting() as visitor:
        visitor.context.on("request", lambda request: urls.append(request.url))
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.page
        expect(page.locator("#jobs")).to_contain_text("<img src=x")
        for job_id in hostile:
            page = visitor.go(f"/app/jobs/{job_id}#activity")
            page.eval_on_selector_all(
                "details.run:not([open]) > summary", "all => all.forEach(one => one.click())"
            )
            expect(page.locator("#activity .run-body .code").first).to_be_visible()
            expect(page.locator("body")).to_contain_text("onerror")
            page.locator(".drawing summary").first.click()
            drawing = page.locator(".drawing img").first
            expect(drawing).to_have_js_property("naturalWidth", 60)
            drawing.click()
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img[src=x], main svg script").count() == 0
        picture = page.locator(".drawing img").first.get_attribute("src")
        for name, address in (
            ("act.svg", f"/app/jobs/{hostile[0]}/artifacts/act.svg"),
            ("act.html", f"/app/jobs/{hostile[0]}/artifacts/act.html"),
            ("act.svg", picture),
        ):
            with page.expect_download() as download:
                page.evaluate("where => { location.href = where }", address)
            assert download.value.suggested_filename == name
        assert not [url for url in urls if "never-asked-for" in url]
        assert page.evaluate("window.hacked") is None


DROP = """() => {
  const files = new DataTransfer();
  files.items.add(new File(["x = 1"], "dropped.py"));
  const drop = document.querySelector("[data-drop]");
  drop.dispatchEvent(new DragEvent("drop", { dataTransfer: files, cancelable: true }));
}"""
REPLACE_STRIP = """() => document.addEventListener("htmx:beforeSend", () =>
  document.querySelector("#strip").replaceChildren())"""
HIDE = """() => {
  Object.defineProperty(document, "hidden", { get: () => true, configurable: true });
  document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_long_form_of_a_finished_job_scrolls_with_the_page(site):
    job_id = site.submit("recording:plot", "It is over.")
    site.until(job_id, "awaiting_review")
    site.call("POST", f"/jobs/{job_id}/review", json={"action": "reject", "feedback": "No."})
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        visitor.page.set_viewport_size({"width": 390, "height": 500})
        page = visitor.go(f"/app/jobs/{job_id}")
        page.locator("summary", has_text="Run again with").click()
        last = page.locator("#fork-review")
        expect(last).to_be_visible()
        heights = page.locator(".strip").evaluate("e => [e.scrollHeight, e.clientHeight]")
        assert heights[0] == heights[1] > 500
        last.scroll_into_view_if_needed()
        assert page.evaluate("scrollY") > 0


def test_the_list_and_its_title_are_updated_and_drafts_are_private(site):
    key = site.key("eve", "read", "submit", "review")
    with site.visiting() as visitor:
        visitor.sign_in(key)
        page = visitor.go("/app/new")
        page.get_by_role("button", name="Fix a function").click()
        expect(page.locator("#task")).to_have_value(re.compile("divide"))
        page.locator("summary", has_text="Files").click()
        page.evaluate(DROP)
        expect(page.locator("#files-chosen")).to_have_text("dropped.py, 5 bytes")
        page.fill("#task", "A draft.")
        page.locator("summary", has_text="Limits").click()
        page.fill("#max_tokens", "5000")
        page.reload()
        expect(page.locator("#max_tokens")).to_have_value("5000")
        expect(page.locator("#max_tokens")).to_be_visible()
        page.locator("details.menu summary").click()
        page.get_by_role("button", name="Sign out").click()
        page.wait_for_url("**/app/sign-in*")
        assert page.evaluate("Object.keys(localStorage).filter(k => k.includes('draft'))") == []
        visitor.sign_in(DEVELOPMENT_KEY)
        expect(visitor.go("/app/new").locator("#task")).to_have_value("")
        visitor.page.clock.install()
        page = visitor.go("/app")
        before = int(re.match(r"(?:\((\d+)\) )?Jobs", page.title()).group(1) or 0)
        page.evaluate("window.here = 1")
        page.evaluate(HIDE)
        site.until(site.submit("recording:plot", "It waits for the title."), "awaiting_review")
        page.clock.fast_forward(25_000)
        expect(page).to_have_title(re.compile(rf"^\({before + 1}\) Jobs"))
        assert page.evaluate("window.here") == 1


def test_a_selection_stays_while_the_list_changes_and_a_cancel_asks_first(site):
    job_id = site.submit("recording:slow", "Selected.", labels=["chosen"])
    with site.visiting() as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        visitor.page.clock.install()
        page = visitor.go("/app?label=chosen")
        actions = page.get_by_label("Act on the selected jobs")
        expect(actions).to_be_hidden()
        pick = page.get_by_label("Select: Selected.")
        pick.check()
        expect(actions).to_be_visible()
        assert Axe().run(page).response["violations"] == []
        site.submit("recording:plot", "Later.", labels=["chosen"])
        page.clock.fast_forward(40_000)
        expect(pick).to_be_checked()
        expect(page.locator(".row .chip")).to_have_count(1)
        pick.uncheck()
        page.clock.fast_forward(40_000)
        expect(page.locator(".row .chip")).to_have_count(2)
        site.until(job_id, "awaiting_review")
        pick.check()
        page.get_by_placeholder("Labels, with commas").fill("picked")
        page.get_by_role("button", name="Add labels").click()
        page.get_by_role("link", name="Back to the jobs").click()
        page.wait_for_url("**/app?label=chosen")
        page.get_by_role("link", name="picked").click()
        page.wait_for_url("**/app?label=picked")
        pick.check()
        expect(page.get_by_role("button", name="Cancel the selected jobs")).to_be_hidden()
        actions.locator("summary").click()
        page.get_by_role("button", name="Cancel the selected jobs").click()
        expect(page.locator("h1")).to_have_text("1 of 1 job changed")
        assert site.call("GET", f"/jobs/{job_id}")["status"] == "cancelled"


def test_the_list_of_conversations_shows_a_complete_task(site):
    site.submit("recording:plot", "The task of this conversation is listed.")
    with site.visiting(viewport=DESK) as visitor:
        visitor.sign_in(DEVELOPMENT_KEY)
        page = visitor.go("/app/conversations")
        title = page.locator(".row-title", has_text="The task of this conversation is listed.")
        assert title.evaluate("title => title.scrollWidth <= title.clientWidth")


SECTIONS = ("", "#evidence", "#activity", "#files")
ON_A_PHONE = (
    "/app",
    "/app/stats",
    *[f"/app/jobs/{{review}}{section}" for section in SECTIONS],
    "/app/conversations",
    "/app/conversations/{review}",
    "/app/compare?jobs={done},{review}",
)
PAGES = (
    *ON_A_PHONE,
    "/app/new",
    "/app/system",
    "/app/audit",
    "/app/access",
    "/app/settings",
    "/app/review-rules",
    "/app/jobs/{done}",
)


@pytest.mark.parametrize(
    ("scheme", "size", "paths"),
    [("light", DESK, PAGES), ("dark", PHONE, ON_A_PHONE)],
    ids=["light desk", "dark phone"],
)
def test_every_page_is_accessible_and_fits_the_window(site, hostile, scheme, size, paths):
    with site.visiting(color_scheme=scheme, viewport=size) as visitor:
        faults = _faults(visitor.go("/app/sign-in"), scheme, size)
        visitor.sign_in(DEVELOPMENT_KEY)
        for path in paths:
            page = visitor.go(path.format(review=hostile[0], done=hostile[1]))
            faults += _faults(page, scheme, size)
    assert faults == []
    assert "not rendered" not in site.log_text()


CUT = """[...document.querySelectorAll(".change .wide")].some(
  (change) => change.scrollWidth > change.clientWidth)"""


def _faults(page, scheme, size):
    """The faults of a page: it does not fit, has the wrong colour scheme, or axe reports a serious
    fault.
    """
    expect(page.locator(".htmx-request")).to_have_count(0)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    dark = sum(map(int, re.findall(r"\d+", ground)[:3])) < 200
    faults = [] if dark == (scheme == "dark") else [(page.url, scheme)]
    if page.evaluate("document.scrollingElement.scrollWidth") > size["width"]:
        faults.append((page.url, "wider than the window"))
    if page.evaluate(CUT):
        faults.append((page.url, "a change is wider than its place"))
    return faults + [
        (page.url, violation["id"], node["html"][:200])
        for violation in Axe().run(page).response["violations"]
        if violation["impact"] in ("serious", "critical")
        for node in violation["nodes"][:3]
    ]
