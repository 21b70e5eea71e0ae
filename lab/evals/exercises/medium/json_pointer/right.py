import re

_INDEX = re.compile(r"0|[1-9][0-9]*")
_LONE_TILDE = re.compile(r"~(?![01])")


def resolve(document, pointer):
    if pointer and not pointer.startswith("/"):
        raise ValueError(f"{pointer!r} does not begin with /")
    if _LONE_TILDE.search(pointer):
        raise ValueError(f"a ~ in {pointer!r} stands for nothing")
    found = document
    for part in pointer.split("/")[1:]:
        found = _step(found, part.replace("~1", "/").replace("~0", "~"))
    return found


def _step(value, part):
    if isinstance(value, dict):
        return value[part]
    if isinstance(value, list) and _INDEX.fullmatch(part):
        return value[int(part)]
    raise LookupError(f"there is no {part!r}")
