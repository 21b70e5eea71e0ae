_CLOSES = {")": "(", "]": "[", "}": "{"}


def first_fault(code):
    opened = []
    quote = None
    escaped = False
    for index, sign in enumerate(code):
        if quote:
            if escaped:
                escaped = False
            elif sign == "\\":
                escaped = True
            elif sign == quote:
                quote = None
        elif sign in "'\"":
            quote = sign
        elif sign in "([{":
            opened.append(index)
        elif sign in _CLOSES and (not opened or code[opened.pop()] != _CLOSES[sign]):
            return index
    return opened[-1] if opened else None
