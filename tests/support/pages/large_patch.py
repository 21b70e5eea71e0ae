"""A patch of 30 files, and the checks of a page that shows it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

CODE = "".join(f"def step_{n}(value: int) -> int:\n    return value + {n}\n\n\n" for n in range(40))
LOCK = "".join(f'    "package-{n}": "{n}.0.0",\n' for n in range(700))


def patch_of_30_files(folder: Path) -> bytes:
    """A change of every kind: edits, new, deleted and renamed files, a lock file, a picture."""

    def git(*words: str) -> bytes:
        config = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
        return subprocess.check_output(["git", *words], cwd=folder, env={**os.environ, **config})

    def put(path: str, text: str) -> None:
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)

    edited = [f"src/app/{part}/module_{n}.py" for part in ("core", "api", "web") for n in range(7)]
    for path in (*edited, "src/old_name.py", "src/gone.py"):
        put(path, CODE)
    git("init", "--quiet")
    git("add", "--all")
    tree = git("write-tree").decode().strip()
    for n, path in enumerate(edited):
        put(path, CODE.replace(f"value + {n}\n", f"value - {n}  # <b>{'wide ' * 40}\n"))
    put("src/new_name.py", CODE.replace("step_39", "step_last"))
    (folder / "src" / "old_name.py").unlink()
    (folder / "src" / "gone.py").unlink()
    put("package-lock.json", "{\n" + LOCK + "}\n")
    put("tests/test_dates.py", "def test_before_1970():\n    assert True\n")
    put("tests/data/large.txt", "line\n" * 600)
    put("docs/überblick und mehr.md", "# Überblick\n")
    put("empty.txt", "")
    (folder / "logo.png").write_bytes(b"\x89PNG\0" + bytes(range(256)))
    put("README.md", "# App\n")
    git("add", "--all")
    return git("diff", "--cached", "--binary", "--full-index", "--find-renames", tree)


def pictured(page: Page, name: str) -> None:
    """Save a screenshot if the environment names a folder for screenshots."""
    if folder := os.environ.get("TEST_PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def faults(page: Page) -> list[tuple[str, ...]]:
    expect(page.locator(".htmx-request")).to_have_count(0)
    wide = page.evaluate("document.scrollingElement.scrollWidth > innerWidth")
    return [("wider than the window",)] * wide + [
        (violation["id"], violation["impact"], node["html"][:200])
        for violation in Axe().run(page).response["violations"]
        for node in violation["nodes"][:3]
    ]
