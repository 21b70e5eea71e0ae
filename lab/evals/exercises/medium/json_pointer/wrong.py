"""Unescapes in the wrong order, and takes for an index whatever int() takes."""


def resolve(document, pointer):
    if pointer == "":
        return document
    if not pointer.startswith("/"):
        raise ValueError(pointer)
    found = document
    for part in pointer[1:].split("/"):
        key = part.replace("~0", "~").replace("~1", "/")
        try:
            found = found[int(key)] if isinstance(found, list) else found[key]
        except (ValueError, TypeError) as error:
            raise LookupError(key) from error
    return found
