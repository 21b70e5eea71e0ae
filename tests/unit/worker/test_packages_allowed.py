"""An operator's list of packages, and which file of a package is taken."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from agents.errors import ToolRefused
from agents.outside import Page, Target
from worker.packages.allowed import ListUnfit, read
from worker.packages.choose import best, candidates
from worker.packages.index import JSON, Link, links_of

MARKERS = {"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"}
TAGS = ("cp311-cp311-manylinux_2_17_x86_64", "cp311-abi3-manylinux_2_17_x86_64", "py3-none-any")
TARGET = Target(TAGS, MARKERS)
HASH = "a" * 64
PINNED = f"""
# made by a tool
Attrs==23.1.0 \\
    --hash=sha256:{HASH} \\
    --hash=sha256:{"b" * 64}  # two files
numpy==1.26.0 ; python_version < "3.12" --hash=sha256:{"c" * 64}
numpy==2.4.6 ; python_version >= "3.12" --hash=sha256:{"d" * 64}
"""


def test_a_list_is_read() -> None:
    allowed = read("attrs\nSome_Package >= 2, <3  # why\n\ntyping-extensions[x]\n")
    assert not allowed.pinned
    assert set(allowed.lines) == {"attrs", "some-package", "typing-extensions"}
    rule = allowed.rule("some-package", MARKERS)
    assert rule is not None
    assert rule.specifier == SpecifierSet(">=2,<3")
    assert allowed.rule("other", MARKERS) is None


def test_hashes_pin_files() -> None:
    allowed = read(PINNED)
    assert allowed.pinned
    attrs, numpy = (allowed.rule(name, MARKERS) for name in ("attrs", "numpy"))
    assert attrs is not None
    assert numpy is not None
    assert attrs.hashes == {HASH, "b" * 64}
    assert (numpy.specifier, numpy.hashes) == (SpecifierSet("==1.26.0"), {"c" * 64})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("attrs\n-r other.txt\n", "not a package with its versions: '-r other.txt'"),
        ("--index-url https://x.test\n", "not a package"),
        ("-e .\n", "not a package"),
        ("attrs @ https://x.test/attrs.whl\n", "not from an address"),
        (f"attrs==1 --hash=sha256:{HASH}\nnumpy\n", "either every package has hashes, or none"),
        ("attrs==1 --hash=md5:abc\n", "only sha256"),
        ("attrs; platform_machine ~= 'x'\n", "under a condition that means nothing"),
        ("attrs; 'a' in dependency_groups\n", "under a condition that means nothing"),
    ],
)
def test_a_list_that_is_not_understood_is_refused(text: str, words: str) -> None:
    with pytest.raises(ListUnfit) as unfit:
        read(text)
    assert words in str(unfit.value)


def chosen(specifier: str, *filenames: str, **more: object) -> str | None:
    links = [Link(name, f"https://x.test/{name}", **more) for name in filenames]  # type: ignore[arg-type]
    found = best(candidates(links, "pkg", TARGET, ()), SpecifierSet(specifier))
    return found.link.filename if found else None


@pytest.mark.parametrize(
    ("specifier", "filenames", "expected"),
    [
        ("", ["pkg-1.0-py3-none-any.whl", "pkg-1.10-py3-none-any.whl"], "1.10-py3-none-any"),
        ("<1.5", ["pkg-1.0-py3-none-any.whl", "pkg-1.10-py3-none-any.whl"], "1.0-py3-none-any"),
        ("", ["pkg-1.0-py3-none-any.whl", "pkg-2.0rc1-py3-none-any.whl"], "1.0-py3-none-any"),
        ("", ["pkg-2.0rc1-py3-none-any.whl"], "2.0rc1-py3-none-any"),
        (
            "",
            ["pkg-1.0-py3-none-any.whl", "pkg-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"],
            "1.0-cp311-cp311-manylinux_2_17_x86_64",
        ),
        ("", ["pkg-1.0-1-py3-none-any.whl", "pkg-1.0-2-py3-none-any.whl"], "1.0-2-py3-none-any"),
        ("", ["pkg-1.0.tar.gz", "pkg-1.0-cp312-cp312-win_amd64.whl", "nonsense.whl"], None),
        ("", ["other-1.0-py3-none-any.whl"], None),
    ],
)
def test_the_newest_wheel_that_fits_is_taken(
    specifier: str, filenames: list[str], expected: str | None
) -> None:
    assert chosen(specifier, *filenames) == (expected and f"pkg-{expected}.whl")


def test_python_and_yanking_count() -> None:
    name = "pkg-1.0-py3-none-any.whl"
    assert chosen("", name, requires_python=">=3.12") is None
    assert chosen("", name, requires_python=">=3.9") == name
    assert chosen("", name, requires_python="nonsense") == name
    assert chosen("", name, yanked=True) is None
    assert chosen("==1.0", name, yanked=True) == name


def test_an_index_in_either_form_is_read() -> None:
    html = (
        b'<!doctype html><a href="../../f/pkg-1.0.whl#sha256=' + HASH.encode() + b'"'
        b' data-requires-python="&gt;=3.9">x</a><a href="pkg%2B-2.whl" data-yanked="">y</a>'
    )
    url = "https://x.test/simple/pkg/"
    first, second = links_of(Page(url, "text/html", None, html))
    assert first == Link("pkg-1.0.whl", "https://x.test/f/pkg-1.0.whl", HASH, ">=3.9")
    assert (second.filename, second.yanked) == ("pkg+-2.whl", True)
    told = b'{"files": [{"filename": "a.whl", "url": "a.whl", "hashes": {}, "yanked": false}]}'
    assert links_of(Page(url, JSON, None, told)) == [Link("a.whl", f"{url}a.whl")]
    for broken in (b"[]", b"{", b'{"files": [1]}'):
        with pytest.raises(ToolRefused, match="the index cannot be read"):
            links_of(Page(url, JSON, None, broken))
