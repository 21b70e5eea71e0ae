import re

_HEAD = re.compile(r"[ \t]*(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=[ \t]*", re.ASCII)
_SKIPPED = re.compile(r"[ \t\r]*(?:#[^\n]*)?(?:\n|$)")
_SINGLE = re.compile(r"'([^']*)'")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_PLAIN = re.compile(r"[^\n]*")
_BEHIND = re.compile(r"[ \t\r]*(?:#[^\n]*)?(?:\n|$)")
_ESCAPED = {"n": "\n", "t": "\t", '"': '"', "\\": "\\"}


def read_env(text):
    found, at = {}, 0
    while at < len(text):
        if skipped := _SKIPPED.match(text, at):
            at = skipped.end()
            continue
        line = text.count("\n", 0, at) + 1
        head = _HEAD.match(text, at)
        if head is None:
            raise ValueError(f"line {line} is no NAME=value")
        found[head[1]], at = _value(text, head.end(), line)
    return found


def _value(text, at, line):
    """The value that begins at `at`, and where the next line begins."""
    quote = text[at : at + 1]
    if quote not in ("'", '"'):
        plain = _PLAIN.match(text, at)
        before = text[at - 1] if at else ""
        value = before + plain[0] if before in " \t" else plain[0]
        return re.split(r"[ \t]#", value, maxsplit=1)[0].strip(), plain.end() + 1
    quoted = (_SINGLE if quote == "'" else _DOUBLE).match(text, at)
    if quoted is None:
        raise ValueError(f"line {line}: a quote is never closed")
    behind = _BEHIND.match(text, quoted.end())
    if behind is None:
        raise ValueError(f"line {line}: there is text behind the quote")
    value = quoted[1]
    if quote == '"':
        value = re.sub(r"\\(.)", lambda m: _ESCAPED.get(m[1], m[0]), value, flags=re.DOTALL)
    return value, behind.end()
