"""Knows strings, but neither escapes nor the other kind of quote inside them."""

_CLOSES = {")": "(", "]": "[", "}": "{"}


def first_fault(code):
    opened = []
    inside = False
    for index, sign in enumerate(code):
        if sign in "'\"":
            inside = not inside
        elif inside:
            continue
        elif sign in "([{":
            opened.append(index)
        elif sign in _CLOSES and (not opened or code[opened.pop()] != _CLOSES[sign]):
            return index
    return opened[-1] if opened else None
