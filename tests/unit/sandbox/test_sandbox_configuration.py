"""The files of `/etc` that programs in their own directories need."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.local.host import configuration


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    etc = tmp_path / "etc"
    (etc / "jdk/security").mkdir(parents=True)
    (etc / "jdk/security/java.security").write_text("security")
    (etc / "jdk/net.properties").write_text("net")
    (etc / "shadow").write_text("secret")
    return etc


def install(tmp_path: Path, name: str, **links: Path) -> str:
    """Install a program in its own directory, with these links. Returns the search path."""
    home, bin_ = tmp_path / "jvm" / name, tmp_path / "bin"
    (home / "bin").mkdir(parents=True)
    bin_.mkdir(exist_ok=True)
    program = home / "bin" / name
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (bin_ / name).symlink_to(program)
    for link, target in links.items():
        (home / link).symlink_to(target)
    return str(bin_)


def test_linked_files_and_folders_are_part_of_the_program(tmp_path: Path, etc: Path) -> None:
    path = install(tmp_path, "java", net=etc / "jdk/net.properties", conf=etc / "jdk/security")
    assert dict(configuration(["java", "missing"], path, etc)) == {
        f"{etc}/jdk/net.properties": b"net",
        f"{etc}/jdk/security/java.security": b"security",
    }


def test_a_file_that_not_every_user_can_read_is_left_out(tmp_path: Path, etc: Path) -> None:
    (etc / "shadow").chmod(0o640)
    path = install(tmp_path, "java", shadow=etc / "shadow", dangling=etc / "missing")
    assert dict(configuration(["java"], path, etc)) == {}


def test_links_to_all_of_etc_or_out_of_it_add_no_files(tmp_path: Path, etc: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    path = install(tmp_path, "java", all=etc, out=tmp_path / "secret", up=etc / "../secret")
    assert dict(configuration(["java"], path, etc)) == {}


def test_programs_of_the_system_have_no_configuration() -> None:
    assert dict(configuration(["sh", "ls"], "/usr/bin:/bin")) == {}
