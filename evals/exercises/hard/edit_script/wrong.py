"""difflib's blocks: a script that fits, but seldom the shortest."""

from difflib import SequenceMatcher


def script(old, new):
    steps = []
    for kind, i, j, k, m in SequenceMatcher(None, old, new).get_opcodes():
        if kind == "equal":
            steps.append(("keep", j - i))
            continue
        if j > i:
            steps.append(("delete", j - i))
        if m > k:
            steps.append(("insert", new[k:m]))
    return steps


def applied(old, steps):
    made, at = [], 0
    for kind, what in steps:
        if kind == "insert":
            made += what
        elif kind in ("keep", "delete") and at + what <= len(old):
            if kind == "keep":
                made += old[at : at + what]
            at += what
        else:
            raise ValueError(kind)
    if at != len(old):
        raise ValueError("rest")
    return made
