"""Facts about the files of a patch that a reviewer should look at before others. Pure.

Paths and lines show them by pattern. So a fact is a reason to look, not a judgement, and a file
without facts may still be wrong. Models write patches: a fact may quote a path or a line of the
patch, so pages and terminals have to escape it.

`jobs.view.attention_lines` has the facts that lines show; this module has the facts that paths,
notes and the job's request show.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

from jobs.model.spec import JobSpec
from jobs.model.visibility import in_backticks
from jobs.view.attention_lines import TestLines, facts_of_lines
from jobs.view.patch import PatchFile

MAX_LINE_CHARACTERS = 1_000
"""A file with a longer line counts as generated: people do not write such lines."""
MAX_CHARACTERS = 2_000_000
"""The characters of all lines that are checked, which takes two seconds at most."""
_BY_NAME = {
    "test configuration": (
        r"conftest\.py|\.?pytest\.(ini|toml)|tox\.ini|noxfile\.py|\.coveragerc|\.?codecov\.ya?ml|\.nycrc.*"
        r"|\.rspec|\.mocharc\..*|phpunit\.xml.*|(jest|karma)\.(conf|setup)\.\w+"
        r"|(jest|vitest|karma|playwright|cypress)[\w.]*\.config\.\w+"
    ),
    "continuous integration": (
        r"\.gitlab-ci\.ya?ml|Jenkinsfile.*|azure-pipelines.*\.ya?ml|\.travis\.ya?ml"
        r"|\.?appveyor\.ya?ml|bitbucket-pipelines\.ya?ml|\.drone\.ya?ml|cloudbuild\.ya?ml"
        r"|buildspec\.ya?ml|\.pre-commit-config\.ya?ml|lefthook\.ya?ml|codemagic\.ya?ml"
        r"|\.(cirrus|build|prow|zuul)\.ya?ml"
    ),
    "rules of the repository": (
        r"CODEOWNERS|\.gitattributes|\.gitmodules|dependabot\.ya?ml|\.?renovate(rc)?(\.json5?)?"
    ),
    "runs when Python starts": r"(site|user)customize\.py|.*\.pth",
    "runs when a person opens the directory": r"\.envrc|devcontainer\.json",
    "instructions for coding agents": (
        r"(AGENTS|CLAUDE|GEMINI)(\.local)?\.md|copilot-instructions\.md|\.mcp\.json"
        r"|\.(cursor|windsurf|cline)rules"
    ),
    "source of packages": (
        r"\.npmrc|\.yarnrc(\.yml)?|pip\.(conf|ini)|\.pypirc|\.condarc|nuget\.config|bunfig\.toml|uv\.toml"
    ),
    "file of credentials, by its name": (
        r"\.env(\.(?!example|sample|template|dist)[\w.-]+)?|id_(rsa|dsa|ecdsa|ed25519)|\.netrc"
        r"|\.git-credentials|.*\.(pem|p12|pfx|jks|keystore|key|kdbx)"
    ),
    "lock file": (
        r"package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|packages\.lock\.json|go\.sum"
        r"|Package\.resolved|gradle\.lockfile|bun\.lockb|pylock(\..*)?\.toml|conda-lock\.ya?ml"
        r"|\.terraform\.lock\.hcl|.*\.lock"
    ),
}
"""Facts by the complete name of a file."""
_BY_FOLDER = {
    "continuous integration": (
        r"\.(github|gitea|forgejo)/(workflows|actions)/|\.circleci/|\.buildkite/|\.teamcity/"
        r"|\.gitlab/ci/|\.gitlab-ci/|\.azure-pipelines/|\.semaphore/|\.tekton/|\.builds/"
        r"|\.(husky|githooks)/|\.woodpecker"
    ),
    "source of packages": (
        r"\.cargo/config|\.bundle/config|\.mvn/|gradle/wrapper/|\.yarn/(releases|plugins)/"
    ),
    "runs when a person opens the directory": r"\.vscode/tasks\.json$",
    "instructions for coding agents": r"\.cursor/rules/|\.claude/",
}
"""Facts by the path, from the top or after a `/`."""
_GENERATED = re.compile(
    _BY_NAME["lock file"] + r"|.*(\.(map|min\.js|min\.css|pb\.go|snap)|_pb2(_grpc)?\.pyi?)"
)
_TEST_NAME = re.compile(
    r"tests?(?:[._-].*)?|.*(?:[._-](?:test|spec)|Test)s?\.\w+|conftest\.py|.*\.t"
)
"""As `agents.runs.sources` has it. A test compares them."""
_TEST_FOLDERS = frozenset({"__tests__", "spec", "test", "tests"})
_EXPECTED_OUTPUT = re.compile(r"\.snap$|(^|/)(__snapshots__|snapshots|golden|expected)/")
_NOTES = {
    "binary": "binary: it has no lines to compare",
    "executable": "can be executed now",
    "not executable": "cannot be executed any more",
    "new executable": "new file that can be executed",
    "submodule": "submodule: another commit of another repository",
    "new submodule": "submodule: code of another repository",
}
"""Facts by the notes of `PatchFile`."""
_IN_LFS = "Git LFS would store it: the patch has its bytes instead of a pointer"
_URL = re.compile(r"\b\w{1,20}://\S+")
_WORD = re.compile(r"(?<![\w/.@-])(?:\./)?\.?[\w@-][\w.@-]*(?:/[\w.@-]+)*/?")
_WITH_ENDING = re.compile(r".*\w\.[A-Za-z]\w{0,4}")


@dataclass(frozen=True, slots=True)
class FileAttention:
    """The facts about a file of a patch."""

    path: str
    facts: tuple[str, ...]
    """Short sentences without an initial capital, such as `1 test skipped: ...`."""


def attention_of(
    files: Sequence[PatchFile], spec: JobSpec | None = None, lfs: Collection[str] = ()
) -> list[FileAttention]:
    """The files of a patch with facts, in the order of the patch. `spec`: the job's request; its
    task may name the directories that it is about. `lfs`: see `PatchRef`."""
    files = _within_limit(files)
    directories = named_directories(spec, [file.path for file in files]) if spec else frozenset()
    tests = TestLines.of(file for file in files if is_test(file.path))
    listed = []
    for file in files:
        facts = (
            *_facts_of_path(file),
            *facts_of_lines(file, tests if is_test(file.path) else None),
            *_facts_of_notes(file),
            *([_IN_LFS] if file.path in lfs else ()),
            *_outside(file.path, directories),
        )
        if facts:
            listed.append(FileAttention(file.path, tuple(dict.fromkeys(facts))))
    return listed


def _within_limit(files: Sequence[PatchFile]) -> Sequence[PatchFile]:
    """The files; those that exceed `MAX_CHARACTERS` in this order are without their lines."""
    limited, characters_left = list[PatchFile](), MAX_CHARACTERS
    for file in files:
        characters = sum(len(row.text) for row in file.rows)
        if characters > characters_left:
            limited.append(replace(file, rows=(), unread="the patch has too many characters"))
        else:
            characters_left -= characters
            limited.append(file)
    return limited


def is_test(path: str) -> bool:
    """Whether a file is a test or belongs to tests, by its name or the names of its folders."""
    *folders, name = path.split("/")
    return _TEST_NAME.fullmatch(name) is not None or not _TEST_FOLDERS.isdisjoint(folders)


def generated_reason(file: PatchFile) -> str:
    """Why the file counts as generated; empty if it does not."""
    if _GENERATED.fullmatch(posixpath.basename(file.path)):
        return "generated, by its name"
    if file.longest > MAX_LINE_CHARACTERS:
        return f"generated: a line has {file.longest - 1:,} characters"
    return ""


def named_directories(spec: JobSpec, paths: Collection[str]) -> frozenset[str]:
    """The directories that the task or the steps of a job name, by themselves or by a file in them.
    If they name one, the directories of its verification and its checks count, too. Empty: they
    name none, or the top directory.

    A word such as `src/app` or `dates.py` counts only if one of the changed `paths` has it, because
    `and/or` and `e.g` look alike.
    """
    tree = _Tree.of(paths)
    directories = {
        name for text in (spec.task, *spec.steps) for name in _directories_in(text, tree)
    }
    if not directories:
        return frozenset()
    checks = " ".join((*spec.verify, *(spec.checks.paths if spec.checks else ())))
    directories |= set(_directories_in(checks, tree))
    return frozenset() if "" in directories else frozenset(directories)


class _Tree(NamedTuple):
    """The directories of changed files."""

    directories: frozenset[str]
    by_name: Mapping[str, Collection[str]]
    """The directories with a changed file of this name."""

    @classmethod
    def of(cls, paths: Iterable[str]) -> Self:
        directories, by_name = set[str](), dict[str, set[str]]()
        for path in paths:
            directory, name = posixpath.split(path)
            by_name.setdefault(name, set()).add(directory)
            while directory and directory not in directories:
                directories.add(directory)
                directory = posixpath.dirname(directory)
        return cls(frozenset(directories), by_name)


def _directories_in(text: str, tree: _Tree) -> Iterator[str]:
    for word in set(_WORD.findall(_URL.sub(" ", text))):
        name = word.removeprefix("./").rstrip(".")
        directory, is_file = posixpath.dirname(name), _WITH_ENDING.fullmatch(name) is not None
        if name.endswith("/") or ("/" in name and name in tree.directories):
            yield name.rstrip("/")
        elif is_file and directory and not _WITH_ENDING.fullmatch(directory):
            yield directory
        elif is_file:
            yield from tree.by_name.get(name, ())


def _outside(path: str, directories: Collection[str]) -> Iterator[str]:
    if directories and not any(path.startswith(f"{directory}/") for directory in directories):
        names = ", ".join(in_backticks(f"{directory}/") for directory in sorted(directories)[:3])
        yield f"outside {names}, which the task names"


def _facts_by_pattern(path: str) -> Iterator[str]:
    name = posixpath.basename(path)
    for fact, pattern in _BY_NAME.items():
        if re.fullmatch(pattern, name, re.IGNORECASE):
            yield fact
    for fact, pattern in _BY_FOLDER.items():
        if re.search(rf"(^|/)({pattern})", path):
            yield fact


def _facts_of_path(file: PatchFile) -> Iterator[str]:
    name = posixpath.basename(file.path)
    facts = tuple(_facts_by_pattern(file.path))
    yield from facts
    if reason := generated_reason(file):
        yield reason
    if is_test(file.path) and any(note.startswith("deleted") for note in file.notes):
        yield "test file deleted"
    if _EXPECTED_OUTPUT.search(file.path) and file.deletions:
        yield "expected output of tests changed"
    for old in _old_names(file.notes):
        for fact in _facts_by_pattern(old):
            if fact not in facts:
                yield f"renamed from {in_backticks(old)}: {fact}, by its old name"
        if is_test(old) and not (is_test(file.path) and _is_like_test(old) <= _is_like_test(name)):
            yield f"renamed from {in_backticks(old)}: not a test any more, by its name"


def _old_names(notes: Iterable[str]) -> Iterator[str]:
    return (
        note.removeprefix("renamed from ") for note in notes if note.startswith("renamed from ")
    )


def _is_like_test(path: str) -> bool:
    """Whether a runner of tests would collect the file by its name."""
    return _TEST_NAME.fullmatch(posixpath.basename(path)) is not None


def _facts_of_notes(file: PatchFile) -> Iterator[str]:
    for note in file.notes:
        if note in _NOTES:
            yield _NOTES[note]
        elif note in ("symbolic link", "new symbolic link"):
            yield from _facts_of_link(file)


def _facts_of_link(file: PatchFile) -> Iterator[str]:
    target = next((row.text[1:] for row in file.rows if row.kind == "added"), "")
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), target))
    leaves = joined.startswith(("/", "../")) or joined == ".."
    note = ", outside the work" if leaves else ""
    yield f"symbolic link to {in_backticks(target[:100])}{note}"
