"""An operator's list of packages."""

from __future__ import annotations

import pytest
from packaging.specifiers import SpecifierSet

from worker.egress.packages.allowed import ListUnfit, read

MARKERS = {"python_version": "3.11", "python_full_version": "3.11.7", "sys_platform": "linux"}
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
    assert allowed.rules(MARKERS)["some-package"].specifier == SpecifierSet(">=2,<3")


def test_hashes_pin_files() -> None:
    allowed = read(PINNED)
    assert allowed.pinned
    attrs, numpy = (allowed.rules(MARKERS)[name] for name in ("attrs", "numpy"))
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
