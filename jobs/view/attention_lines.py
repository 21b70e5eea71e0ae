"""The facts about a file of a patch that its lines show: tests, assertions, dependencies, hosts,
secrets. Pure.

All patterns take linear time in the length of a line, and read only its beginning: models write the
lines. See `jobs.view.attention`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from jobs.model.visibility import drop_emoji_selectors, escape_invisible, in_backticks
from jobs.view.patch import HUNK_HEADER, PatchFile, Row

MAX_READ_CHARACTERS = 2_000
"""The characters of a line that the patterns read."""
MAX_QUOTED = 3
"""The names or lines that a fact quotes."""
MAX_QUOTED_CHARACTERS = 80

_DATA = re.compile(r"\.(md|rst|txt|json\w*|csv|ya?ml|html?|xml|svg|snap|toml|lock|log|sql)$")
"""Files of the folders of tests that are not programs."""
_COMMENT = re.compile(r"(?:#(?![\[!])|//|/?\*|<!--)")
_IMPORT = re.compile(r"(?:import|from|const|let|var|use|using|require)\b")
_TEST = re.compile(
    r"(?:async\s+)?def\s+(test\w*)|class\s+(Test\w*)|func\s+((?:Test|Fuzz)\w+)\("
    r"|[fx]?(?:it|test|describe|context|specify)(?:\.\w+)*(?:\(|\s)\s*[\"'`]([^\"'`$]+)"
    r"|(?:public\s+|private\s+)?(?:void|function|fun)\s+(test\w+)"
    r"|@(?:Test|ParameterizedTest|RepeatedTest)\b|#\[(?:\w+::)?test\b|\[(?:Fact|Theory|TestMethod)\b"
)
"""The definition of a test, at the beginning of a line; a group has its name, if the line has."""
_DEFINITION = re.compile(r"(?:async\s+)?(?:def|class|function)\b")
_CONTROL_FLOW = re.compile(r"(?:return|raise|throw|if|try|with|while|for)\b")
_ASSERTION = re.compile(
    r"\bassert\w*[!(. ]|\bexpect\w*[(!]|\.should\b|\b[tb]\.(?:Error|Fatal|Fail)\w*\("
    r"|\brequire\.[A-Z]\w*\(|\bpytest\.(?:raises|warns)\(|\b(?:EXPECT|ASSERT|CHECK|REQUIRE)(?:_\w+)?\("
)
_CONSTANT = re.compile(
    r"\bassert\s+(?:True|\d+|not False|\"[^\"]+\"|'[^']+')\s*(?:[,;#]|$)"
    r"|\bassert\s+([^\s=].{0,80}?) == \1\s*(?:[,;#]|$)|\bassert\w*!?\(\s*(?:True|true|!false)\s*\)"
    r"|\bassert_?[tT]rue\(\s*[tT]rue\b|\bexpect\((?:true|1)\)"
    r"|\b(?:assert|expect)\b.{0,120}(?:\bor True\b|\|\| true\b)"
)
"""An assertion that cannot fail."""
_SKIP = re.compile(
    r"\bpytest\.(?:mark\.)?(?:skip\w*|xfail|importorskip)\b|\bmark\.(?:skip\w*|xfail)\b"
    r"|\bunittest\.(?:skip\w*|expectedFailure)|^@(?:\w+\.)?(?:skip|xfail|expectedFailure)|\.skipTest\("
    r"|\bSkipTest\b|\bpytest\.exit\("
    r"|\b(?:it|test|describe|context|suite)\.(?:concurrent\.)?(?:skip\w*|todo|only|failing|fails)\b"
    r"|(?<![.\w])(?:x(?:it|test|describe|context|specify)|f(?:it|describe))\(\s*[\"'`]"
    r"|\b[tb]\.Skip(?:f|Now)?\(|#\[ignore\b|@(?:Disabled|Ignore)\b|\[Ignore\b|\bSkip\s*=\s*\""
    r"|\bmarkTest(?:Skipped|Incomplete)\(|\b__test__\s*=\s*False|\bcollect_ignore|\bGTEST_SKIP\("
    r"|^(?:skip|pending)(?:$|[\s(]+[\"'])"
)
_HARMLESS_FAILURE = re.compile(
    r"continue-on-error:\s*true|allow_failure:\s*true|\|\|\s*(?:true|:|exit 0)|^set \+e|--no-verify"
    r"|^-?\s*if:\s*(?:false|\$\{\{\s*false)|\bwhen:\s*(?:manual|never)|--deselect|--passWithNoTests"
)
_STEPS = re.compile(
    r"\.ya?ml$|(^|/)(Jenkinsfile[^/]*|[Mm]akefile|GNUmakefile|tox\.ini|noxfile\.py|package\.json)$"
    r"|\.(sh|mk)$"
)
"""Files that run steps of checks."""
_TEST_SETTINGS = {
    r"(^|/)(pyproject\.toml|setup\.cfg)$": (
        r"tool[.:]pytest|^addopts|^testpaths|^python_(files|classes|functions)|^norecursedirs"
        r"|^filterwarnings|^xfail_strict|^fail_under|tool\.coverage|^coverage:|--deselect|--ignore\b"
    ),
    r"(^|/)package\.json$": (
        r"\"(pre|post)?test[\w:-]*\"\s*:|\"jest\"\s*:\s*\{|coverageThreshold|^\"test\w+\""
    ),
    r"(^|/)([Mm]akefile|GNUmakefile|justfile|Taskfile\.ya?ml|[^/]+\.mk)$": (
        r"^(test|check)[\w-]*:|\bpytest\b|\b(go|cargo|npm|yarn|pnpm|make|mvn|gradle) test\b"
    ),
}
"""Files of other settings, and their lines that configure tests."""
_AT_INSTALLATION = re.compile(r"\"(?:(?:pre|post)?install|prepare)\"\s*:")
_MANIFESTS = {
    r"(^|/)(requirements|constraints)[^/]*\.(txt|in)$|(^|/)requirements/[^/]+\.(txt|in)$": (
        r"^(?:-e\s+)?((?:git\+|https?://)\S+|[A-Za-z0-9][\w.-]*(?=\s*(?:[\[<>=!~;@#]|$)))"
    ),
    r"(^|/)(pyproject\.toml|Pipfile|Cargo\.toml)$": (
        r"^[\"']?([\w.-]+)[\"']?\s*=\s*(?:[\"'][\^~<>=*\d]|\{.*\b(?:version|git|path|url|file)\b)"
    ),
    r"(^|/)(pyproject\.toml|setup\.py)$": (
        r"[\"']([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*(?:[<>!~=]=|[<>@;])"
    ),
    r"(^|/)setup\.cfg$": r"^([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?\s*[<>!~=]=",
    r"(^|/)(package|composer)\.json$": (
        r"^\"(@?[\w./-]+)\"\s*:\s*\"(?:[\^~<>=*]|v?\d|latest\b|(?:npm|git\S*|file|https?|link):)"
    ),
    r"(^|/)go\.mod$": r"^(?:require\s+)?([\w-]+\.[\w./-]+)\s+v\d",
    r"(^|/)(Gemfile|[^/]+\.gemspec)$": r"^(?:gem|\w+\.add_\w*dependency)[\s(]+[\"']([\w-]+)",
    r"(^|/)pom\.xml$": r"<artifactId>([\w.-]+)",
    r"\.gradle(\.kts)?$": r"^\w+[\s(]+[\"']([\w.-]+:[\w.-]+):",
    r"\.(cs|fs|vb)proj$|(^|/)Directory\.Packages\.props$": r"<Package\w+\s+Include=\"([\w.-]+)",
}
"""Files that declare dependencies, and their lines with the name of a dependency."""
_LIST = re.compile(r"([\w.-]+)\s*=\s*\[|\[\[?([\w.\"-]+)\]\]?$|(\])")
"""A line of a TOML file that begins a list, begins a section, or ends a list."""
_LISTED_NAME = r"[\"']([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?[\"'](?=\s*(?:[,\]]|$))"
_NO_DEPENDENCY = re.compile(
    r"[\w.-]*version|python|requires-python|edition|resolver|node|npm|yarn|pnpm|license|description",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"\b(?:[a-z]+\+)?(?:https?|ssh|git|ftp):(?://|\\/\\/)[^\s\"'<>,;)]+|\bgit@([\w.-]+):",
    re.IGNORECASE,
)
_HOST_LINES = {
    r"(^|/)(package-lock|npm-shrinkwrap)\.json$": r"\"resolved\"|^\s*\"[a-z+]{1,9}:",
    r"(^|/)(pyproject\.toml|Pipfile|Cargo\.toml)$": r"index|registry|\bgit\s*=|git\+",
    r"(^|/)(pnpm-lock\.yaml|packages\.lock\.json|Package\.resolved|[^/]+\.lock)$": "",
    r"(^|/)(\.npmrc|\.yarnrc(\.yml)?|pip\.conf|\.pypirc|nuget\.config|uv\.toml|bunfig\.toml)$": "",
    r"(^|/)((requirements|constraints)[^/]*\.(txt|in)|requirements/[^/]+|\.cargo/config.*)$": "",
    r"(^|/)(\.gitmodules|\.gitlab-ci\.ya?ml|Dockerfile[^/]*|\.github/workflows/.*)$": "",
}
"""Files with the addresses of packages and of programs, and their lines with such addresses."""
_FOR_PEOPLE = re.compile(r"\"(?:homepage|funding|docs|issues|support|wiki|forum|chat|rss)\"")
_SECRETS = {
    "a private key": r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY(?: BLOCK)?-----",
    "an access key of AWS": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{36}|\bgithub_pat_\w{40}",
    "a token of GitLab": r"\bglpat-[\w-]{20}",
    "a token of Slack": r"\bxox[abeoprs]-[\w-]{10}|hooks\.slack\.com/services/T\w+/B\w+/\w",
    "a key of Google": r"\bAIza[\w-]{30}",
    "a key of Stripe": r"\b[rs]k_live_[A-Za-z0-9]{16}",
    "a key of a model provider": r"\bgsk_[A-Za-z0-9]{20}|\bsk-(?=[a-z-]{0,20}[A-Z0-9])[\w-]{20}",
    "a token of a package index": r"\bnpm_[A-Za-z0-9]{36}|\bpypi-[\w-]{50}",
    "an API key of Fettle": r"\bfettle_[\w-]{20}",
    "a JSON web token": r"\beyJ[\w-]{10,200}\.eyJ[\w-]{10,400}\.[\w-]{10}",
}
_ANY_SECRET = re.compile("|".join(_SECRETS.values()))
_PASSWORDS = (
    re.compile(r"\b[a-z][a-z0-9+]{1,20}://[^\s/:@\"']{1,100}:([^\s/@\"']{3,200})@"),
    re.compile(
        r"(?:password|passwd|secret|token|api[_-]?key|access[_-]?key)[\w-]{0,30}[\"']?\s{0,9}"
        r"(?:=>|:=|[:=])\s{0,9}[\"']((?=[^\s\"']*\d)(?=[^\s\"']*[A-Za-z])[^\s\"']{12,200})[\"']",
        re.IGNORECASE,
    ),
)
"""A password in an address, and a text with letters and digits under a name of a secret."""
_PLACEHOLDER = re.compile(
    r"example|placeholder|change.?me|your|dummy|fake|xxx|\*\*\*|redacted|pass|secret|[<{$%]|^test|^https?://",
    re.IGNORECASE,
)
_HARMLESS = re.compile(r"^\+\ufeff|[\u200c\u200d\x0c\r]")
"""Invisible characters that are no fact: a mark of the byte order may begin a file, words and emoji
have joiners, and lines may end with a carriage return or a form feed."""
_HOOK = re.compile(r"\s*def pytest_\w")
"""A hook of pytest, which can turn the failure of each test into a success."""
_CLAIM = re.compile(
    r"@generated\b|\bcode generated by\b|\bdo not edit\b|\bauto-?generated\b", re.IGNORECASE
)
CLAIM_LINES = 5
"""The first lines of a file, which may claim that it is generated."""


@dataclass(frozen=True, slots=True)
class TestLines:
    """The changed lines of all tests of a patch. A line that moves counts neither as removed nor as
    added: the counters have the moves that `facts_of_lines` has not seen yet."""

    names: frozenset[str]
    """The names of the tests in added lines."""
    moved_from: Counter[str]
    moved_to: Counter[str]

    @classmethod
    def of(cls, tests: Iterable[PatchFile]) -> Self:
        """The lines of these tests."""
        removed, added = Counter[str](), Counter[str]()
        for file in tests:
            removed.update(_texts(file.rows, "removed"))
            added.update(_texts(file.rows, "added"))
        names = frozenset(name for line in added if (name := _test_name(line)))
        return cls(names, removed & added, removed & added)


def facts_of_lines(file: PatchFile, tests: TestLines | None) -> Iterator[str]:
    """The facts of the file's lines. `tests`: the lines of all tests of the patch, if the file is a
    test; else None."""
    if file.unread:
        yield f"its lines are not checked: {file.unread}"
        return
    if tests is not None and not _DATA.search(file.path):
        yield from _facts_of_tests(file, tests)
    if file.path.endswith(".py") and any(
        row.kind == "added" and _HOOK.match(row.text[1:MAX_READ_CHARACTERS]) for row in file.rows
    ):
        yield "has hooks of pytest, which can change the outcome of tests"
    yield from _facts_of_settings(file)
    yield from _facts_of_dependencies(file)
    yield from _facts_of_hosts(file)
    yield from _facts_of_secrets(file)
    if hidden := [row for row in file.rows if row.kind == "added" and _hides(row.text)]:
        yield f"invisible or reversing characters in line {hidden[0].new}"
    beginning = (row.text for row in file.rows if row.new is not None and row.new <= CLAIM_LINES)
    if any(_CLAIM.search(text[:MAX_READ_CHARACTERS]) for text in beginning):
        yield "generated, as its first lines claim"


def _hides(text: str) -> bool:
    """Whether characters of a row's text have no width, control a terminal, or reverse the text
    after them."""
    suspect = _HARMLESS.sub("", drop_emoji_selectors(text))
    return escape_invisible(suspect) != suspect


def _facts_of_tests(file: PatchFile, tests: TestLines) -> Iterator[str]:
    removed = _without_moved(_texts(file.rows, "removed"), tests.moved_from)
    added = _without_moved(_texts(file.rows, "added"), tests.moved_to)
    old_names = [name for line in removed if (name := _test_name(line)) is not None]
    removed_names = [name for name in old_names if name and name not in tests.names]
    nameless = old_names.count("") - sum(_test_name(line) == "" for line in added)
    if count := len(removed_names) + max(nameless, 0):
        names = f": {_quoted(removed_names)}" if removed_names else ""
        yield f"{_plural(count, 'test')} removed or renamed{names}"
    if skips := [line for line in added if _SKIP.search(line)]:
        yield f"{_plural(len(skips), 'test')} skipped or expected to fail: {_quoted(skips)}"
    lost, gained = sum(map(_is_assertion, removed)), sum(map(_is_assertion, added))
    if lost > gained:
        change = f" ({lost} removed or changed, {gained} added)" if gained else ""
        yield f"{_plural(lost - gained, 'assertion')} fewer{change}"
    elif changed := [line for line in removed if not _IMPORT.match(line)]:
        yield f"{_plural(len(changed), 'existing line')} of tests removed or changed"
    elif lines := [x for x in _added_to_existing_tests(file.rows) if not _SKIP.search(x)]:
        yield f"{_plural(len(lines), 'line')} added to existing tests: {_quoted(lines)}"
    if constants := [line for line in added if _CONSTANT.search(line)]:
        yield f"asserts a constant: {_quoted(constants)}"


def _added_to_existing_tests(rows: Iterable[Row]) -> Iterator[str]:
    """The added lines in tests that existed, without assertions, and the decorators added to them.
    A header of a hunk may name a test that has ended: after it, only control flow counts."""
    indent: int | None = None
    after_header = False
    decorators: list[str] = []
    for row in rows:
        if row.kind == HUNK_HEADER:
            after_header = _test_name(row.text.rpartition("@@")[2].strip()) is not None
            indent, decorators = None, []
            continue
        text = row.text[1:MAX_READ_CHARACTERS]
        line = text.strip()
        if not line or _COMMENT.match(line) or row.kind == "removed":
            continue
        depth = len(text) - len(text.lstrip())
        is_test = _test_name(line) is not None
        after_header = after_header and depth > 0 and not is_test
        if indent is not None and depth <= indent:
            indent = None
        if row.kind == "same":
            if is_test:
                yield from decorators
                indent = depth
            decorators = [] if not line.startswith("@") else decorators
        elif line.startswith("@"):
            decorators.append(line)
        elif is_test or _DEFINITION.match(line):
            indent, decorators = (None if is_test else indent), []
        elif not _is_assertion(line) and (
            indent is not None or (after_header and _CONTROL_FLOW.match(line))
        ):
            yield line


def _facts_of_settings(file: PatchFile) -> Iterator[str]:
    added, removed = _texts(file.rows, "added"), _texts(file.rows, "removed")
    for path, pattern in _TEST_SETTINGS.items():
        if re.search(path, file.path) and any(re.search(pattern, x) for x in (*added, *removed)):
            yield "test configuration"
    if _STEPS.search(file.path):
        harmless = [line for line in added if _HARMLESS_FAILURE.search(line)]
        if harmless := _without_moved(harmless, Counter(removed)):
            yield f"a failed step may no longer count: {_quoted(harmless)}"
    if file.path.endswith("package.json") and any(map(_AT_INSTALLATION.search, added)):
        yield "runs code at its installation"


def _facts_of_dependencies(file: PatchFile) -> Iterator[str]:
    patterns = [line for path, line in _MANIFESTS.items() if re.search(path, file.path)]
    old, new = set[str](), dict[str, str]()
    for kind, name in _declared(file.rows, patterns) if patterns else ():
        key = re.sub(r"[-_.]+", "-", name.lower())
        if kind == "added":
            new[key] = name
        else:
            old.add(key)
    if names := [name for key, name in new.items() if key not in old]:
        yield f"{_plural(len(names), 'new dependency', 'new dependencies')}: {_quoted(names)}"


def _declared(rows: Iterable[Row], patterns: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The kind of the row and the name, of each declared dependency. A name without a version
    counts only in a list of dependencies, which may begin in the header of a hunk."""
    section, in_list = "", False
    for row in rows:
        is_header = row.kind == HUNK_HEADER
        text = row.text.rpartition("@@")[2] if is_header else row.text[1:]
        line = text[:MAX_READ_CHARACTERS].strip()
        begins = _LIST.match(line)
        if is_header or begins:
            key, header, _ = begins.groups("") if begins else ("", "", "")
            section = header if is_header or header else section
            in_list = key.endswith("requires") or "dependenc" in (f"{section} {key}" if key else "")
        if is_header or _COMMENT.match(line):
            continue
        for pattern in (*patterns, _LISTED_NAME) if in_list else patterns:
            names = (match[1] for match in re.finditer(pattern, line))
            yield from ((row.kind, name) for name in names if not _NO_DEPENDENCY.fullmatch(name))


def _facts_of_hosts(file: PatchFile) -> Iterator[str]:
    pattern = next((p for path, p in _HOST_LINES.items() if re.search(path, file.path)), None)
    if pattern is None:
        return
    new, old = dict[str, None](), dict[str, None]()
    for row in file.rows:
        line = row.text[1:MAX_READ_CHARACTERS]
        if row.kind != HUNK_HEADER and re.search(pattern, line) and not _FOR_PEOPLE.search(line):
            (new if row.kind == "added" else old).update(dict.fromkeys(_hosts_in(line)))
    new_hosts = [host for host in new if host not in old]
    if new_hosts and old:
        yield f"another host: {_quoted(new_hosts)} (before: {_quoted(list(old))})"
    elif new_hosts:
        yield f"names the {'host' if len(new_hosts) == 1 else 'hosts'} {_quoted(new_hosts)}"


def _hosts_in(line: str) -> Iterator[str]:
    for match in _ADDRESS.finditer(line):
        try:
            address = match[0].replace("\\/", "/").replace("\\", "/")  # as JSON may write a slash
            yield match[1] or urlsplit(address).hostname or match[0]
        except ValueError:
            yield match[0]


def _facts_of_secrets(file: PatchFile) -> Iterator[str]:
    """The first line of each kind of secret. A fact does not repeat the secret."""
    reported_kinds = set[str]()
    for row in file.rows:
        line = row.text[1:MAX_READ_CHARACTERS]
        if row.kind != "added" or not line:
            continue
        for kind in _secrets_in(line):
            if kind not in reported_kinds:
                reported_kinds.add(kind)
                yield f"line {row.new} looks like {kind}"


def _secrets_in(line: str) -> Iterator[str]:
    if _ANY_SECRET.search(line):
        matches = {name: re.search(pattern, line) for name, pattern in _SECRETS.items()}
        yield from (name for name, match in matches.items() if match and "EXAMPLE" not in match[0])
        return
    values = (match[1] for pattern in _PASSWORDS for match in pattern.finditer(line))
    if any(not _PLACEHOLDER.search(value) for value in values):
        yield "a password or a key"


def _texts(rows: Iterable[Row], kind: str) -> list[str]:
    """The rows of a kind without their sign, indentation and comments."""
    stripped = (row.text[1:MAX_READ_CHARACTERS].strip() for row in rows if row.kind == kind)
    return [line for line in stripped if line and not _COMMENT.match(line)]


def _without_moved(lines: Iterable[str], moved: Counter[str]) -> list[str]:
    """The lines without those in `moved`, which loses each line that is left out."""
    result = []
    for line in lines:
        if moved[line] > 0:
            moved[line] -= 1
        else:
            result.append(line)
    return result


def _test_name(line: str) -> str | None:
    """The name of the test that the line defines; '' if the name is in another line, None if it
    defines no test."""
    match = _TEST.match(line)
    return None if match is None else next(filter(None, match.groups()), "")


def _is_assertion(line: str) -> bool:
    """Whether the line is an assertion that can fail."""
    if _IMPORT.match(line) or _CONSTANT.search(line):
        return False
    return _ASSERTION.search(line) is not None


def _quoted(texts: Sequence[str]) -> str:
    unique = list(dict.fromkeys(texts))
    quoted = [in_backticks(text[:MAX_QUOTED_CHARACTERS]) for text in unique[:MAX_QUOTED]]
    more = len(unique) - MAX_QUOTED
    return ", ".join(quoted) + (f" and {more} more" if more > 0 else "")


def _plural(count: int, singular: str, plural: str = "") -> str:
    return f"{count} {singular if count == 1 else plural or singular + 's'}"
