"""A real Chromium (`lab.browser`). Its pages report violations of their content policy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

# The machine may be busy with other tests, and a benchmark takes its time.
expect.set_options(timeout=90_000)

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 860}
WATCH = """addEventListener("securitypolicyviolation", (event) =>
  console.error("CSP", event.violatedDirective, event.blockedURI, event.sample))"""


@dataclass
class Visitor:
    """The window of one person. `wrong` collects violations of the policy and errors of scripts."""

    context: BrowserContext
    page: Page
    url: str
    wrong: list[str] = field(default_factory=list)

    def go(self, path: str) -> Page:
        """Open a page of the service."""
        self.page.goto(self.url + path)
        return self.page

    def sign_in(self, key: str) -> None:
        """Sign in with the form."""
        self.go("/app/sign-in")
        self.page.fill("#key", key)
        self.page.keyboard.press("Enter")
        self.page.wait_for_url("**/app")

    def new_page(self) -> Page:
        """Open another tab, with the same checks."""
        page = self.context.new_page()
        page.on("console", self._record_message)
        page.on("pageerror", lambda error: self.wrong.append(f"script: {error}"))
        page.on("dialog", self._dialog)
        self.page = page
        return page

    def _record_message(self, message: Any) -> None:
        text = message.text
        if message.type == "error" and ("CSP" in text or "Content Security Policy" in text):
            self.wrong.append(text)

    def _dialog(self, dialog: Any) -> None:
        if dialog.type != "confirm":
            self.wrong.append(f"a dialog: {dialog.message}")
        dialog.accept()


@contextmanager
def visiting(browser: Browser, url: str, **how: Any) -> Iterator[Visitor]:
    """A separate window; fails if its pages violated the policy or a script failed."""
    context = browser.new_context(**{"viewport": DESK, **how})
    context.set_default_timeout(15_000)
    context.add_init_script(WATCH)
    visitor = Visitor(context, None, url)  # type: ignore[arg-type]
    visitor.new_page()
    try:
        yield visitor
    finally:
        context.close()
    assert visitor.wrong == []
