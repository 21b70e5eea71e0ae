from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.local.stepdown import is_open_to_all, is_user_outside


@pytest.mark.parametrize(
    ("uid_map", "expected"),
    [
        ("         0          0 4294967295\n", False),  # root of the host
        ("         0       1000          1\n", True),  # a rootless container, one uid
        ("         0       1000          1\n         1     100000      65536\n", False),
        ("         0     100000      65536\n", False),  # a container with uids to step down to
        ("         0          0          1\n", False),  # root outside as well
        ("", False),
    ],
)
def test_root_is_a_user_outside_where_its_namespace_says_so(uid_map: str, expected: bool) -> None:
    assert is_user_outside(uid_map, 61_100) is expected


def test_a_tree_is_open_where_every_user_gets_to_it(tmp_path: Path) -> None:
    assert is_open_to_all(Path("/usr"))
    closed = tmp_path / "closed"
    (closed / "tree").mkdir(parents=True)
    closed.chmod(0o700)
    assert not is_open_to_all(closed / "tree")
