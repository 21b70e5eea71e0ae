"""`python -m settings`: every setting as the table of docs/configuration.md."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pydantic import SecretStr
from pydantic.fields import FieldInfo

from settings.sandbox import REPOSITORY
from settings.starting.environment import ALLOWED, TELEMETRY
from settings.starting.provenance import variable
from settings.starting.sections import SECTIONS, SHARED

HEAD = """\
# Configuration

A value comes from the first of these that has it: a flag, the environment, the file, the default.
In the file, which is TOML, names are in lower case, without `FETTLE_`. `fettle config` shows every
value and where it came from. Sizes are in bytes, times in seconds.

## Files

`fettle --config FILE`, or the variable `FETTLE_CONFIG`, names the file; else none is read. A file
that is named and cannot be read is an error. Fettle never looks for a file in the working
directory, which may be a stranger's repository. `make up` names the `fettle.toml` next to the
`Makefile`.

The command line has two settings, `url` and `api_key`. If no file is named, it reads them from
`~/.config/fettle/config.toml` (`$XDG_CONFIG_HOME/fettle/config.toml`):

```toml
url = "https://fettle.example.org"
api_key = "fettle_..."
```

Make that file readable for yourself only (`chmod 600`). The command line sends the key of a file
only to the service that the `url` of the same file names. For another service (`--url`,
`FETTLE_URL`), set `FETTLE_API_KEY`.

## Mistakes

Settings under *The fleet* count once: the first worker on an empty Redis puts them on record. From
then on all workers follow the record, and `fettle fleet set` changes it. A worker whose environment
differs reports this in its log, in `fettle doctor` and in `GET /system`, and follows the record.

A name that begins with `FETTLE_`, or that is in the file, and is not a setting is reported by API
and workers at their start, by `fettle config` and by `fettle doctor`, with the nearest setting.
A `fettle.toml` in the working directory that is not named is reported, too: release 0.1.0 read it.
With `FETTLE_ENV=production` API and workers refuse to start.

A process that cannot use a value ends with exit code 2 and one sentence. No message repeats any
part of an address, because an address may contain a password.

This page is written by `python -m settings`.
"""


ENVIRONMENT = """
## Other variables

Each process of Fettle, and each process that it starts, has only the variables in this table. It
drops all others before it loads a library. Otherwise a library could take an address, a broker or a
log level from them, or send the content of jobs to another service. If a library would have read a
dropped variable, API and workers log its name, and `fettle config` and `fettle doctor` show it.

With `FETTLE_ENV=production`, API and workers refuse to start if a dropped variable would have sent
the content of jobs to another service, and its value is not empty, `false`, `0`, `no`, `off` or
`none`. These variables are {telemetry}.

A proxy is an `http://` or `https://` address; a worker refuses to start with another kind. If
`HTTP_PROXY` and `HTTPS_PROXY` are set, `ALL_PROXY` has no effect, and is dropped.

| purpose | variables |
|---|---|
"""


def page() -> str:
    """The complete page."""
    parts = [HEAD]
    for title, kind in SECTIONS:
        fields = {
            name: field
            for name, field in kind.model_fields.items()
            if kind in SHARED or not any(name in shared.model_fields for shared in SHARED)
        }
        rows = [_row(variable(kind, name, field), field) for name, field in fields.items()]
        parts.append(
            "\n".join(
                (
                    f"\n## {title}\n",
                    "| variable | default | what it sets |",
                    "|---|---|---|",
                    *rows,
                    "",
                )
            )
        )
    allowed = (f"| {purpose} | {_names(names)} |\n" for purpose, names in ALLOWED.items())
    return "".join((*parts, ENVIRONMENT.format(telemetry=_names(TELEMETRY)), *allowed))


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _row(name: str, field: FieldInfo) -> str:
    return f"| `{name}` | {_default(field)} | {field.description} |"


def _default(field: FieldInfo) -> str:
    default = field.get_default(call_default_factory=True, validated_data={})
    if default is None or default in ((), {}):
        return ""
    if isinstance(default, SecretStr):
        return "a known one"
    if isinstance(default, Path) and default.is_relative_to(REPOSITORY):
        default = default.relative_to(REPOSITORY)
    if isinstance(default, tuple):
        default = ", ".join(default)
    return f"`{default}`"


if __name__ == "__main__":
    print(page(), end="")
