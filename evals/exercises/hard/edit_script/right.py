from itertools import groupby


def script(old, new):
    steps = []
    for kind, group in groupby(_ordered(_moves(old, new)), key=lambda move: move[0]):
        lines = [line for _, line in group]
        steps.append((kind, lines if kind == "insert" else len(lines)))
    return steps


def _moves(old, new):
    """One move a line: from the table of the longest common subsequence, row by row."""
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    width = len(new) - head
    rows = [[0] * (width + 1)]
    for line in reversed(old[head:]):
        below, row = rows[-1], [0] * (width + 1)
        for j in range(width - 1, -1, -1):
            if line == new[head + j]:
                row[j] = below[j + 1] + 1
            else:
                down, right = below[j], row[j + 1]
                row[j] = down if down >= right else right
        rows.append(row)
    rows.reverse()
    yield from (("keep", line) for line in old[:head])
    i, j = head, head
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            yield "keep", old[i]
            i, j = i + 1, j + 1
        elif rows[i + 1 - head][j - head] >= rows[i - head][j + 1 - head]:
            yield "delete", old[i]
            i += 1
        else:
            yield "insert", new[j]
            j += 1
    yield from (("delete", line) for line in old[i:])
    yield from (("insert", line) for line in new[j:])


def _ordered(moves):
    """Between two kept lines all deletions, then all insertions."""
    inserted = []
    for move in moves:
        if move[0] == "insert":
            inserted.append(move)
            continue
        if move[0] == "keep":
            yield from inserted
            inserted = []
        yield move
    yield from inserted


def applied(old, steps):
    made, at = [], 0
    for kind, what in steps:
        if kind == "insert":
            made.extend(what)
            continue
        if kind not in ("keep", "delete") or at + what > len(old):
            raise ValueError(f"{kind} {what} does not fit")
        if kind == "keep":
            made.extend(old[at : at + what])
        at += what
    if at != len(old):
        raise ValueError(f"{len(old) - at} lines are left over")
    return made
