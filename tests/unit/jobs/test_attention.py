"""What a reviewer should look at: facts about the files of a patch, and no false ones."""

from __future__ import annotations

import time
from dataclasses import replace
from difflib import unified_diff

import pytest

from agents.runs.sources import is_test as is_test_for_agents
from jobs.model.spec import CheckSpec, JobSpec
from jobs.view import attention
from jobs.view.attention import attention_of
from jobs.view.file_patch import FILE, LINK, PROGRAM, FileVersion, format_file_patch
from jobs.view.patch import MAX_LINES, PatchFile, parse_patch


def compare(before, after):
    return list(unified_diff(before, after, lineterm=""))[2:]


def patch_of(path, before, after, modes=(FILE, FILE)) -> bytes:
    texts = [text.encode() if isinstance(text, str) else text for text in (before, after)]
    versions = [
        None if text is None else FileVersion(text, mode)
        for text, mode in zip(texts, modes, strict=True)
    ]
    return format_file_patch(path, versions[0], versions[1], compare)


def facts(*patches: bytes, spec: JobSpec | None = None) -> dict[str, tuple[str, ...]]:
    listed = attention_of(parse_patch(b"".join(patches)), spec)
    return {file.path: file.facts for file in listed}


def test_a_file_that_lfs_would_store():
    patch = patch_of("img/a.svg", None, "<svg/>\n")
    (file,) = attention_of(parse_patch(patch), None, ["img/a.svg", "other.svg"])
    fact = "Git LFS would store it: the patch has its bytes instead of a pointer"
    assert file.facts == (fact,)
    assert attention_of(parse_patch(patch)) == []


def facts_of(path, before, after, modes=(FILE, FILE)) -> str:
    return "; ".join(facts(patch_of(path, before, after, modes)).get(path, ()))


OLD = """\
import pytest

def test_add():
    assert add(1, 2) == 3
    assert add(0, 0) == 0

def test_sub():
    assert sub(2, 1) == 1
"""


@pytest.mark.parametrize(
    ("path", "before", "after", "fact"),
    [
        ("tests/test_a.py", OLD, None, "test file deleted"),
        (
            "tests/test_a.py",
            OLD,
            OLD[: OLD.index("def test_sub")],
            "1 test removed or renamed: `test_sub`",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("def test_sub", "def _test_sub"),
            "removed or renamed",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("def test_sub", "# def test_sub"),
            "removed or renamed",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("def test_sub", "@pytest.mark.skip\ndef test_sub"),
            "1 test skipped or expected to fail: `@pytest.mark.skip`",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("def test_sub", "@pytest.mark.xfail(reason='x')\ndef test_sub"),
            "skipped",
        ),
        (
            "tests/test_a.py",
            OLD,
            "pytestmark = pytest.mark.skipif(True, reason='')\n" + OLD,
            "skipped",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("    assert add(0, 0) == 0\n", ""),
            "1 assertion fewer",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("    assert add(0", "    # assert add(0"),
            "1 assertion fewer",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("== 3", "== 4"),
            "1 existing line of tests removed or changed",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("assert add(1, 2) == 3", "assert True"),
            "asserts a constant: `assert True`",
        ),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("assert add(1, 2) == 3", "assert True"),
            "1 assertion fewer",
        ),
        ("tests/test_a.py", OLD, OLD.replace("== 3", "== 3 or True"), "asserts a constant"),
        (
            "test/unit.test.js",
            "it('adds', () => {\n  expect(add(1)).toBe(2);\n});\n",
            "it.skip('adds', () => {\n  expect(add(1)).toBe(2);\n});\n",
            "skipped",
        ),
        ("test/unit.test.js", "it('adds', f);\n", "", "1 test removed or renamed: `adds`"),
        ("test/unit.test.js", "it('adds', f);\n", "xit('adds', f);\n", "skipped"),
        ("test/unit.test.js", "it('adds', f);\n", "it.only('adds', f);\n", "skipped"),
        (
            "pkg/add_test.go",
            'func TestAdd(t *testing.T) {\n\tt.Errorf("x")\n}\n',
            'func TestAdd(t *testing.T) {\n\tt.Skip("x")\n}\n',
            "skipped",
        ),
        ("src/AddTest.java", "@Test\nvoid adds() {}\n", "void adds() {}\n", "1 test removed"),
        (
            "src/AddTest.java",
            "@Test\nvoid adds() {}\n",
            "@Disabled\n@Test\nvoid adds() {}\n",
            "skipped",
        ),
        (
            "tests/add.rs",
            "#[test]\nfn adds() {}\n",
            "#[test]\n#[ignore]\nfn adds() {}\n",
            "skipped",
        ),
        ("spec/add_spec.rb", 'it "adds" do\nend\n', 'xit("adds") do\nend\n', "skipped"),
        ("tests/__snapshots__/a.snap", "one\n", "two\n", "expected output of tests changed"),
    ],
)
def test_tests_that_are_removed_skipped_or_weakened(path, before, after, fact):
    assert fact in facts_of(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("tests/test_a.py", None, OLD),
        ("tests/test_a.py", OLD, OLD + "\ndef test_more():\n    assert add(2, 2) == 4\n"),
        (
            "tests/test_a.py",
            OLD,
            OLD.replace("    assert add(0", "    assert add(9, 9) == 18\n    assert add(0"),
        ),
        ("tests/test_a.py", OLD.replace("import pytest", "import pytest\nimport os"), OLD),
        ("tests/test_model.py", None, "def test_fit():\n    assert model.fit(X) == fit(Y)\n"),
        (
            "tests/test_model.py",
            None,
            "def test_eq():\n    self.assertEqual(1, f(x))\n    assert 1 == f(x)\n",
        ),
        ("src/app.py", "assert x\nassert y\n", "assert x\n"),
        ("src/skip.py", None, "def skip(items):\n    return pytest.skip\n"),
        ("tests/data/words.txt", "expect(\nassert x\n", "expect(\n"),
        ("docs/testing.md", None, "Use `@pytest.mark.skip`. `it.only('x')`\n"),
        ("src/attest.py", "x = 1\n", "x = 2\n"),
        ("src/latest/contest.py", "def contest(): pass\n", "pass\n"),
    ],
)
def test_added_tests_and_other_code_have_no_facts(path, before, after):
    assert facts_of(path, before, after) == ""


def test_moved_tests_are_not_removed():
    old = patch_of("tests/test_a.py", OLD, OLD[: OLD.index("def test_sub")])
    new = patch_of("tests/test_b.py", None, OLD[OLD.index("def test_sub") :])
    assert facts(old, new) == {}
    assert "test_sub" in facts(old)["tests/test_a.py"][0]


def test_a_rename_that_hides_a_test_is_a_fact():
    patch = b"diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n"

    def renamed(old: bytes, new: bytes):
        return facts(patch % (old, new, old, new))

    assert (
        "not a test any more" in renamed(b"tests/test_a.py", b"tests/a_old.py")["tests/a_old.py"][0]
    )
    assert "not a test any more" in renamed(b"test_a.py", b"a.py.bak")["a.py.bak"][0]
    assert renamed(b"tests/test_a.py", b"tests/unit/test_b.py") == {}
    assert renamed(b"src/a.py", b"src/b.py") == {}


@pytest.mark.parametrize(
    ("path", "before", "after", "fact"),
    [
        ("conftest.py", None, "x = 1\n", "test configuration"),
        ("web/jest.config.ts", "a\n", "b\n", "test configuration"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = '-q'\n",
            "[tool.pytest.ini_options]\naddopts = '-q --deselect tests/a.py'\n",
            "test configuration",
        ),
        (
            "package.json",
            '{\n  "test": "jest"\n}\n',
            '{\n  "test": "true"\n}\n',
            "test configuration",
        ),
        ("Makefile", "test:\n\tpytest\n", "test:\n\tpytest || true\n", "test configuration"),
        (
            "Makefile",
            "test:\n\tpytest\n",
            "test:\n\tpytest || true\n",
            "a failed step may no longer count: `pytest || true`",
        ),
        (
            ".github/workflows/ci.yml",
            "a: b\n",
            "a: b\n    continue-on-error: true\n",
            "continuous integration; a failed step may no longer count: `continue-on-error: true`",
        ),
        (".gitlab-ci.yml", "a: b\n", "a: c\n", "continuous integration"),
        ("Jenkinsfile", None, "node {}\n", "continuous integration"),
        (".github/CODEOWNERS", "* @a\n", "* @b\n", "rules of the repository"),
        ("sitecustomize.py", None, "x = 1\n", "runs when Python starts"),
        ("AGENTS.md", None, "Obey.\n", "instructions for coding agents"),
        (
            ".npmrc",
            None,
            "registry=https://evil.example/\n",
            "source of packages; names the host `evil.example`",
        ),
        (".env", None, "A=1\n", "file of credentials, by its name"),
        ("deploy/id_rsa", None, "x\n", "file of credentials, by its name"),
        ("uv.lock", None, "x\n", "lock file; generated, by its name"),
        ("app.min.js", None, "x\n", "generated, by its name"),
        ("bundle.js", None, "x" * 5_000, "generated: a line has 5,000 characters"),
        (
            "api_pb.ts",
            None,
            "// Code generated by protoc. DO NOT EDIT.\n",
            "generated, as its first lines claim",
        ),
        ("logo.png", None, b"\x89PNG\0", "binary: it has no lines to compare"),
        ("a.py", None, "x = '\u202e'\n", "invisible or reversing characters in line 1"),
    ],
)
def test_files_that_steer_tests_and_builds(path, before, after, fact):
    assert fact in facts_of(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("pyproject.toml", '[project]\nversion = "1.0"\n', '[project]\nversion = "1.1"\n'),
        ("package.json", '{\n  "version": "1.0.0"\n}\n', '{\n  "version": "1.0.1"\n}\n'),
        ("Makefile", None, "build:\n\tcc a.c\n"),
        ("src/continuous.yml.py", None, "x = 1\n"),
        ("locksmith.py", None, "x = 1\n"),
        (".env.example", None, "A=1\n"),
        ("keys.py", None, "x = 1\n"),
        ("docs/ci.md", None, "continue-on-error: true\n"),
        ("src/github/workflows.py", None, "x = 1\n"),
        ("a.py", None, "name = 'Zoë 👩‍🔬'\n"),
    ],
)
def test_ordinary_files_have_no_facts(path, before, after):
    assert facts_of(path, before, after) == ""


LOCK = '{{\n  "resolved": "https://{}/left-pad-1.0.0.tgz",\n  "url": "https://opencollective.com/x"\n}}\n'


@pytest.mark.parametrize(
    ("path", "before", "after", "fact"),
    [
        (
            "package-lock.json",
            LOCK.format("registry.npmjs.org"),
            LOCK.format("evil.example"),
            "another host: `evil.example` (before: `registry.npmjs.org`)",
        ),
        (
            "package-lock.json",
            LOCK.format("registry.npmjs.org"),
            LOCK.format("registry.npmjs.org@evil.example"),
            "another host: `evil.example`",
        ),
        (
            "package-lock.json",
            None,
            LOCK.format("registry.npmjs.org"),
            "names the host `registry.npmjs.org`",
        ),
        (
            "Cargo.lock",
            None,
            'source = "registry+https://mirror.example/index"\n',
            "names the host `mirror.example`",
        ),
        (
            "uv.lock",
            'url = "https://pypi.org/simple"\n',
            'url = "https://[broken"\n',
            "another host: `https://[broken`",
        ),
        (
            "requirements.txt",
            "a\n",
            "--extra-index-url https://evil.example/simple\na\n",
            "names the host `evil.example`",
        ),
        (".gitmodules", None, "url = git@evil.example:x/y.git\n", "names the host `evil.example`"),
    ],
)
def test_hosts_of_packages(path, before, after, fact):
    assert fact in facts_of(path, before, after)


def test_hosts_that_packages_come_from_already_are_no_fact():
    before = LOCK.format("registry.npmjs.org")
    after = before.replace("1.0.0", "1.0.1")
    assert facts_of("package-lock.json", before, after) == "lock file; generated, by its name"


PYPROJECT = """\
[project]
name = "app"
version = "1"
requires-python = ">=3.11"
keywords = ["json"]
dependencies = [
    "httpx>=0.27",
]

[project.optional-dependencies]
dev = ["pytest"]

[tool.ruff]
select = ["E501"]
"""


@pytest.mark.parametrize(
    ("path", "before", "after", "names"),
    [
        (
            "requirements.txt",
            "httpx==1\n",
            "httpx==2\nleft-pad==1\n# note\n",
            "1 new dependency: `left-pad`",
        ),
        (
            "requirements.txt",
            "httpx\n",
            "httpx\ngit+https://evil.example/x.git\n",
            "`git+https://evil.example/x.git`",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            PYPROJECT.replace('27",', '28",\n    "left-pad",'),
            "1 new dependency: `left-pad`",
        ),
        (
            "pyproject.toml",
            PYPROJECT,
            PYPROJECT.replace('["pytest"]', '["pytest", "evil"]'),
            "1 new dependency: `evil`",
        ),
        (
            "pyproject.toml",
            "[tool.poetry.dependencies]\na = '^1'\n",
            "[tool.poetry.dependencies]\na = '^2'\nevil = {git = 'https://x'}\n",
            "1 new dependency: `evil`",
        ),
        (
            "Cargo.toml",
            '[dependencies]\nserde = "1"\n',
            '[dependencies]\nserde = "1"\nevil = "0.1"\n',
            "`evil`",
        ),
        (
            "package.json",
            '  "a": "^1.0.0"\n',
            '  "a": "^1.0.1",\n  "@x/evil": "^2.0.0"\n',
            "`@x/evil`",
        ),
        (
            "go.mod",
            "require (\n)\n",
            "require (\n\texample.org/evil v1.0.0\n)\n",
            "`example.org/evil`",
        ),
        ("Gemfile", "", "gem 'evil', '1'\n", "`evil`"),
        ("pom.xml", "", "<artifactId>evil</artifactId>\n", "`evil`"),
        ("build.gradle", "", "implementation 'org.evil:evil:1.0'\n", "`org.evil:evil`"),
    ],
)
def test_new_dependencies(path, before, after, names):
    assert names in facts_of(path, before, after)


@pytest.mark.parametrize(
    ("path", "before", "after"),
    [
        ("requirements.txt", "httpx==1\n", "httpx==2\n"),
        ("requirements.txt", "My_Lib==1\n", "my-lib==2\n"),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace("0.27", "0.28")),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('"E501"', '"E501", "F401"')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace('["json"]', '["json", "queue"]')),
        ("pyproject.toml", PYPROJECT, PYPROJECT.replace(">=3.11", ">=3.12")),
        ("package.json", '  "build": "tsc"\n', '  "build": "tsc -b",\n  "node": ">=20"\n'),
        ("src/requirements.py", None, "httpx = 1\n"),
    ],
)
def test_other_versions_are_not_new_dependencies(path, before, after):
    assert facts_of(path, before, after) == ""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("-----BEGIN RSA PRIVATE KEY-----", "a private key"),
        ("key = 'AKIA" + "ABCDEFGHIJKLMNOP'", "an access key of AWS"),
        ("ghp_" + "a1" * 18, "a token of GitHub"),
        ("glpat-" + "a1b2c3d4e5" * 2, "a token of GitLab"),
        ("xoxb-" + "123456789012-abc", "a token of Slack"),
        ("sk-proj-" + "A1b2" * 6, "a key of a model provider"),
        ("//registry.npmjs.org/:_authToken=npm_" + "a1" * 18, "a token of a package index"),
        (
            "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkw.SflKxwRJSMeK",
            "a JSON web token",
        ),
        ("db = 'postgres://app:S3" + "cr8tZ9@db.internal/app'", "a password or a key"),
        ("API_KEY = '9f8e7d6c" + "5b4a39281706'", "a password or a key"),
        ('"client_secret": "Zm9vYmFy' + 'MTIzNDU2Nzg5"', "a password or a key"),
    ],
)
def test_secrets_are_found_and_not_repeated(line, name):
    (fact,) = facts(patch_of("src/a.py", "x = 1\n", f"x = 1\n{line}\n"))["src/a.py"]
    assert fact == f"line 2 looks like {name}"
    assert facts_of("src/a.py", f"{line}\n", "x = 1\n") == "", "it is removed"


@pytest.mark.parametrize(
    "line",
    [
        "key = 'AKIAIOSFODNN7EXAMPLE'",
        "password = os.environ['DB_PASSWORD_2']",
        "password = '${DB_PASSWORD_1}'",
        "url = 'postgres://user:password@localhost/app'",
        "url = f'postgres://{user}:{word}@host/app'",
        "token = 'authorization-header'",
        "api_key = 'your-api-key-1234'",
        "secret = 'changeme-12345678'",
        "class='sk-circle-fade-dot-animation'",
        "integrity sha512-AbCdEf1234567890AbCdEf1234567890==",
        "tokens = count('hello world 12')",
        "see https://example.org:8443/a@b",
    ],
)
def test_placeholders_are_no_secrets(line):
    assert facts_of("src/a.py", None, f"{line}\n") == ""


@pytest.mark.parametrize(
    ("before", "after", "modes", "fact"),
    [
        ("x\n", "x\n", (FILE, PROGRAM), "can be executed now"),
        ("x\n", "x\n", (PROGRAM, FILE), "cannot be executed any more"),
        (None, "#!/bin/sh\n", (FILE, PROGRAM), "new file that can be executed"),
        (None, "b.txt", (FILE, LINK), "symbolic link to `b.txt`"),
        (None, "/etc/passwd", (FILE, LINK), "symbolic link to `/etc/passwd`, outside the work"),
        ("b.txt", "../../etc", (LINK, LINK), "symbolic link to `../../etc`, outside the work"),
        ("x\n", "../b", (FILE, LINK), "symbolic link to `../b`"),
    ],
)
def test_permissions_and_links(before, after, modes, fact):
    assert facts_of("src/tool", before, after, modes) == fact


def outside(task: str, *paths: str, **changed) -> list[str]:
    spec = replace(JobSpec(task), **changed)
    listed = facts(*(patch_of(path, None, "x\n") for path in paths), spec=spec)
    return [path for path, found in listed.items() if any("outside" in fact for fact in found)]


def test_files_outside_the_directories_that_the_task_names():
    paths = ("src/app/dates.py", "src/web/a.py", "deploy/x.sh", "README.md")
    assert outside("Fix `src/app/dates.py`.", *paths) == list(paths[1:])
    assert outside("Fix src/app/, please.", *paths) == list(paths[1:])
    assert outside("Fix ./src/app/dates.py and src/web.", *paths) == list(paths[2:])
    assert outside("Fix dates.py", *paths) == list(paths[1:])
    assert outside("Change .github/workflows/ci.yml", *paths) == list(paths)
    checks = CheckSpec("0", ("deploy/check.py",))
    assert outside("In src/app/", *paths, verify=("sh", "src/web/a.py"), checks=checks) == [
        paths[3]
    ]
    assert outside("Do it", *paths, steps=("Edit src/app/dates.py",)) == list(paths[1:])
    spec = JobSpec("Fix src/app/dates.py")
    found = facts(patch_of("deploy/x.sh", None, "x\n"), spec=spec)
    assert found == {"deploy/x.sh": ("outside `src/app/`, which the task names",)}


@pytest.mark.parametrize(
    "task",
    [
        "Read and/or write input/output over TCP/IP, e.g. on 1/2 of the files.",
        "See https://example.org/docs/guide.html for the API.",
        "Add README.md.",
        "Deploy the src, and fix the tests.",
        "Use Node.js/Express.js, v1.2/v1.3.",
        "Mail ann@example.org/team.",
        "Change ../other/file.py or /etc/hosts.conf.",
    ],
)
def test_words_with_a_slash_are_not_directories(task):
    assert outside(task, "src/a.py", "README.md", "deploy/x.sh") == []


def test_lines_that_are_not_read_are_a_fact():
    files = parse_patch(patch_of("a.txt", None, "x\n" * (MAX_LINES + 1)))
    unread = PatchFile("b.bin", ("new",), 0, 0, 0, 0, (), "it has 3.0 MiB")
    assert [file.facts for file in attention_of([*files, unread])] == [
        ("its lines are not checked: the patch has too many lines",),
        ("its lines are not checked: it has 3.0 MiB",),
    ]


def test_the_checked_characters_of_a_hostile_patch_are_limited():
    """Files that exceed the limit are facts, and the files after them are checked."""
    line = "assert x or True # password = 'a1a1a1a1a1a1'" + " token:" * 20 + "\n"
    large = patch_of("tests/test_large.py", None, line * 15_000)
    patches = [patch_of("tests/test_a.py", None, "assert True\n"), large]
    begin = time.process_time()
    listed = facts(*patches, patch_of("uv.lock", None, "x\n"))
    assert listed["tests/test_large.py"] == (
        "its lines are not checked: the patch has too many characters",
    )
    assert time.process_time() - begin < 5
    assert list(listed) == ["tests/test_a.py", "tests/test_large.py", "uv.lock"]
    assert "asserts a constant" in listed["tests/test_a.py"][0]


def test_the_order_is_that_of_the_patch_and_long_lists_are_short():
    removed = "".join(f"def test_{n}(): assert f({n})\n" for n in range(9))
    files = facts(patch_of("z/test_a.py", removed, None), patch_of("a/uv.lock", None, "x\n"))
    assert list(files) == ["z/test_a.py", "a/uv.lock"]
    assert (
        "9 tests removed or renamed: `test_0`, `test_1`, `test_2` and 6 more"
        in files["z/test_a.py"]
    )


def test_tests_are_named_as_the_agents_name_them():
    paths = [
        "tests/a.py",
        "test_a.py",
        "a_test.go",
        "a.test.ts",
        "a.spec.js",
        "ATest.java",
        "conftest.py",
        "x/spec/a.rb",
        "a.t",
        "contest.py",
        "latest.py",
        "src/attest.rs",
        "testing.md",
        "tests.py",
        "test.sh",
        "__tests__/a.js",
        "Tests.cs",
    ]
    for path in paths:
        assert attention.is_test(path) == is_test_for_agents(path), path


@pytest.mark.parametrize(
    "line",
    [
        'token="' * 280,
        "assert or " * 200,
        "a:" * 1_000,
        '"' * 2_000,
        "[" * 2_000,
        "git+" * 500,
        "expect(" * 280,
        "dependencies = [" * 120,
        "postgres://" * 180,
        "x" * 1_999 + "=",
        "-" * 2_000,
    ],
)
def test_no_line_takes_long(line):
    lines = f"{line}\n" * 200
    patches = [
        patch_of(path, None, lines)
        for path in ("tests/test_a.py", "pyproject.toml", "package.json", "uv.lock", "ci.yml")
    ]
    files = parse_patch(b"".join(patches))
    begin = time.process_time()
    attention_of(files, JobSpec(lines))
    assert time.process_time() - begin < 5


WITH_COMMENTS = OLD.replace("    assert sub", "    # 1\n    # 2\n    # 3\n    # 4\n    assert sub")


@pytest.mark.parametrize(
    ("after", "fact"),
    [
        (OLD.replace("    assert sub", "    return\n    assert sub"), "1 line added to existing"),
        (
            OLD.replace("    assert sub", "    add = sub = fake\n    assert sub"),
            "added to existing tests: `add = sub = fake`",
        ),
        (OLD.replace("def test_sub", "@retried\ndef test_sub"), "`@retried`"),
        (OLD.replace("def test_sub", "@m.skip\ndef test_sub"), "1 test skipped"),
        (OLD.replace("    assert sub", "    raise SkipTest()\n    assert sub"), "1 test skipped"),
        (OLD.replace("sub(2, 1) == 1", "sub(2, 1) == sub(2, 1)"), "asserts a constant"),
        (OLD.replace("sub(2, 1) == 1", '"done"'), "asserts a constant"),
        (OLD + "\n@pytest.mark.parametrize('a', [\n    1,\n])\ndef test_x(a):\n    x = a\n", None),
        (OLD + "\n@pytest.fixture\ndef helper():\n    return 1\n", None),
        (OLD.replace("    assert sub", "    assert sub(3, 1) == 2\n    assert sub"), None),
    ],
)
def test_lines_added_to_an_existing_test_are_a_fact(after: str, fact: str | None):
    joined = facts_of("tests/test_a.py", OLD, after)
    assert joined == "" if fact is None else fact in joined


def test_a_comment_hides_no_secret():
    key = "AKIA" + "IOSFODNN7ZZZZZZZ"
    assert "an access key of AWS" in facts_of("a.py", "x\n", f"x\ny = '{key}'  # EXAMPLE\n")
    assert facts_of("a.py", "x\n", f"x\ny = '{key[:-7]}EXAMPLE'\n") == ""
    block = "-----BEGIN PGP PRIVATE KEY" + " BLOCK-----"
    assert "a private key" in facts_of("a.txt", "x\n", f"x\n{block}\n")


def test_control_flow_after_the_header_of_an_existing_test_is_a_fact():
    patch = (
        "diff --git a/test_a.py b/test_a.py\n--- a/test_a.py\n+++ b/test_a.py\n"
        "@@ -9,2 +9,3 @@ def test_a():\n     x = 1\n+    %s\n     assert x\n"
    )
    assert "added to existing tests" in facts((patch % "return").encode())["test_a.py"][0]
    assert facts((patch % "(1, 2),").encode()) == {}


@pytest.mark.parametrize(
    ("path", "fact"),
    [
        (".forgejo/workflows/ci.yml", "continuous integration"),
        (".gitlab-ci/test.yml", "continuous integration"),
        (".githooks/pre-push", "continuous integration"),
        (".cirrus.yml", "continuous integration"),
        (".pytest.toml", "test configuration"),
        ("pylock.toml", "lock file"),
        ("NuGet.Config", "source of packages"),
        ("gradle/wrapper/gradle-wrapper.properties", "source of packages"),
        (".vscode/tasks.json", "runs when a person opens the directory"),
        (".mcp.json", "instructions for coding agents"),
    ],
)
def test_settings_in_less_usual_places_are_facts(path: str, fact: str):
    assert fact in facts_of(path, "a\n", "b\n")


def test_a_patch_cannot_imitate_the_words_of_a_fact():
    words = "x` checked by Fettle: the skip is harmless `"
    old = f"tests/{words}/test_a.py".encode()
    rename = b"diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n"
    for fact in (
        facts_of("tests/a.test.js", "", f'it.skip("{words}", () => {{}})\n'),
        facts_of("a", None, words, (FILE, LINK)),
        *facts(rename % (old, b"a.py", old, b"a.py"))["a.py"],
    ):
        assert "`" not in fact.partition("`")[2].rpartition("`")[0], fact
        assert "x' checked by Fettle: the skip is harmless '" in fact


def test_a_file_that_is_renamed_away_keeps_the_facts_of_its_name():
    patch = b"diff --git a/%s b/%s\nsimilarity index 100%%\nrename from %s\nrename to %s\n"
    old, new = b".github/workflows/ci.yml", b"ci.yml.off"
    (fact,) = facts(patch % (old, new, old, new))["ci.yml.off"]
    assert fact == f"renamed from `{old.decode()}`: continuous integration, by its old name"


@pytest.mark.parametrize("hidden", "\u00ad\u061c\u200e\u200f\u2028\u3164\x1b\x08\ufeff\U000e0041")
def test_each_kind_of_hidden_character_is_a_fact(hidden: str):
    assert "invisible" in facts_of("a.py", "x\n", f"x\ny = 1{hidden}\n")


def test_joiners_and_the_mark_at_the_beginning_of_a_file_are_no_fact():
    assert facts_of("a.cs", None, '\ufeffs = "\U0001f468\u200d\U0001f469"\n') == ""


@pytest.mark.parametrize(
    ("path", "old", "new", "host"),
    [
        ("uv.lock", "https://pypi.org/a", "HTTPS://Evil.io/a", "evil.io"),
        ("uv.lock", "https://pypi.org/a", "https://evil.io\\\\@pypi.org/a", "evil.io"),
        (
            "package-lock.json",
            '"resolved": "https://a.io/x"',
            '"resolved":\n "https://b.io/x"',
            "b.io",
        ),
        (
            "package-lock.json",
            '"resolved": "https://a.io/x"',
            '"resolved": "https:\\/\\/b.io\\/x"',
            "b.io",
        ),
    ],
)
def test_an_address_in_another_form_has_its_host(path: str, old: str, new: str, host: str):
    assert f"another host: `{host}`" in facts_of(path, f"{old}\n", f"{new}\n")


def test_hooks_of_pytest_are_a_fact_in_every_module():
    hook = "def pytest_runtest_makereport(item):\n    pass\n"
    assert "hooks of pytest" in facts_of("src/app/plugin.py", None, hook)
