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
        # In this container, the process can step down to another uid.
        ("         0     100000      65536\n", False),
        ("         0          0          1\n", False),  # root on the host, too
        ("", False),
    ],
)
def test_the_uid_map_determines_whether_root_is_an_ordinary_user_outside(
    uid_map: str, expected: bool
) -> None:
    assert is_user_outside(uid_map, 61_100) is expected


def test_a_tree_is_open_if_every_user_can_reach_it(tmp_path: Path) -> None:
    assert is_open_to_all(Path("/usr"))
    closed = tmp_path / "closed"
    (closed / "tree").mkdir(parents=True)
    closed.chmod(0o700)
    assert not is_open_to_all(closed / "tree")
