"""Tasks on repositories from SWE-bench's JSON lines and a directory of mirrors.

A line is {instance_id, repo, base_commit, problem_statement, patch, test_patch, FAIL_TO_PASS,
PASS_TO_PASS, difficulty?}; the lists may be JSON texts, as in the published files. SWE-bench has a
project's requirements and test command in its harness, and not in its lines: `setup` and
`test_command` may be added to a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lab.evals.errors import BadSet
from lab.evals.repos.task import Base, Described, RepoTask, collect, reason
from lab.evals.sources.records import read as read_lines

SUFFIXES = (".jsonl", ".jsonl.gz", ".json")


def files(folder: Path) -> list[Path]:
    """The files of lines in a folder."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES))


def read(path: Path) -> list[RepoTask]:
    """The tasks of a file; the mirrors are in the same folder, or in its folder `mirrors/`.

    Raises BadSet for an invalid line, and for a repository without a mirror.
    """
    folders = (path.parent / "mirrors", path.parent)
    lines = read_lines(path, lambda line: line)
    return collect(
        path,
        (
            (f"{path}, record {number}", partial(_task, path, number, line, folders))
            for number, line in enumerate(lines, 1)
        ),
    )


def _task(path: Path, number: int, line: Mapping[str, Any], folders: tuple[Path, ...]) -> RepoTask:
    try:
        commit, name = line["base_commit"], line["repo"]
        described = Described.model_validate(_described(line))
        base = Base(mirror=str(_mirror(name, folders)), commit=_commit(commit))
        return described.task(base, line["patch"].encode(), line["test_patch"].encode())
    except ValidationError as error:
        problem = reason(error)
    except KeyError as error:
        problem = f"{error} is missing"
    except (ValueError, TypeError, AttributeError) as error:
        problem = str(error)
    raise BadSet(f"{path}, record {number}: {problem}")


def _commit(text: str) -> str:
    if not re.fullmatch(r"[0-9a-f]{40}", text):
        raise ValueError(f"base_commit is no commit: {text!r}")
    return text


def _described(line: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a task.json."""
    own_fields = {
        name: line[name] for name in ("setup", "test_command", "difficulty") if name in line
    }
    return {
        **own_fields,
        "id": line["instance_id"],
        "problem": line["problem_statement"],
        "fail_to_pass": _listed(line["FAIL_TO_PASS"]),
        "pass_to_pass": _listed(line.get("PASS_TO_PASS", [])),
    }


def _listed(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _mirror(name: str, folders: tuple[Path, ...]) -> Path:
    """The bare repository of `owner/name`, or a clone's `.git`. Raises ValueError."""
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", name) or ".." in name:
        raise ValueError(f"repo is no name: {name!r}")
    flat = [name, name.replace("/", "__"), name.rpartition("/")[2]]
    names = [f"{stem}{suffix}" for stem in flat for suffix in (".git", "", "/.git")]
    for folder in folders:
        for repository_name in names:
            if (folder / repository_name / "objects").is_dir():
                return (folder / repository_name).resolve()
    raise ValueError(
        f"no mirror of {name}: looked for {names[0]} in {' and '.join(map(str, folders))}"
    )
