STAR = object()
DEEP = object()


def matches(pattern, path):
    parts = [DEEP if part == "**" else _tokens(part) for part in pattern.split("/")]

    def one(part, text):
        return _fits(part, text, STAR, lambda token, sign: token(sign))

    return _fits(parts, path.split("/"), DEEP, one)


def _fits(tokens, items, many, one):
    """Whether the items fit the tokens, of which `many` stands for any number; by the last such."""
    t = i = 0
    back = None
    while i < len(items):
        if t < len(tokens) and tokens[t] is many:
            back = (t, i)
            t += 1
        elif t < len(tokens) and one(tokens[t], items[i]):
            t, i = t + 1, i + 1
        elif back is not None:
            t, i = back[0] + 1, back[1] + 1
            back = (back[0], back[1] + 1)
        else:
            return False
    return all(token is many for token in tokens[t:])


def _tokens(part):
    tokens, at = [], 0
    while at < len(part):
        sign = part[at]
        if sign == "*":
            if not tokens or tokens[-1] is not STAR:
                tokens.append(STAR)
            at += 1
        elif sign == "?":
            tokens.append(lambda _: True)
            at += 1
        elif sign == "[" and (found := _set(part, at)):
            token, at = found
            tokens.append(token)
        else:
            if sign == "\\" and at + 1 < len(part):
                at += 1
            tokens.append(part[at].__eq__)
            at += 1
    return tokens


def _set(part, at):
    """A test for the set that begins at `at`, and where it ends; None if it is never closed."""
    at += 1
    turned = part[at : at + 1] == "!"
    at += turned
    members, first = [], True  # (character, whether it may be a range's hyphen)
    while at < len(part) and (first or part[at] != "]"):
        first = False
        if part[at] == "\\" and at + 1 < len(part):
            at += 1
            members.append((part[at], False))
        else:
            members.append((part[at], part[at] == "-"))
        at += 1
    if at >= len(part):
        return None
    ranges, n = [], 0
    while n < len(members):
        if n + 2 < len(members) and members[n + 1][1]:
            ranges.append((members[n][0], members[n + 2][0]))
            n += 3
        else:
            ranges.append((members[n][0], members[n][0]))
            n += 1
    return lambda sign: any(low <= sign <= high for low, high in ranges) != turned, at + 1
