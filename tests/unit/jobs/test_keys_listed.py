"""The list at the head of `jobs.redis.keys` has every key that the module names."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

from jobs.redis import keys


def all_keys() -> Iterator[str]:
    """Each key's fixed part, such as `worker` of `fettle:worker:{id}`."""
    names = [value for value in vars(keys).values() if isinstance(value, str)]
    for function in vars(keys).values():
        if inspect.isfunction(function) and function.__module__ == keys.__name__:
            parameters = [
                parameter
                for parameter in inspect.signature(function).parameters.values()
                if parameter.default is parameter.empty
            ]
            names.append(function(*("x" for _ in parameters)))
    job = keys.JobKeys("x")
    names += [*job.all, *job.working, job.channel, job.tokens]
    for name in names:
        if name.startswith(keys.PREFIX) and name != keys.PREFIX and "\n" not in name:
            yield name.removeprefix(keys.PREFIX).split(":")[0]


def test_every_key_is_listed() -> None:
    assert keys.__doc__ is not None
    listed = set(re.findall(r"^fettle:([\w-]+)", keys.__doc__, re.MULTILINE))
    assert set(all_keys()) <= listed
    assert {"drain", "key-names", "rate"} <= listed
