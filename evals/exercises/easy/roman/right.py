_SIGNS = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC")),
    *((50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)


def to_roman(number):
    if not 1 <= number <= 3999:
        raise ValueError(f"{number} is not between 1 and 3999")
    text = ""
    for value, sign in _SIGNS:
        count, number = divmod(number, value)
        text += sign * count
    return text


def from_roman(text):
    number, rest = 0, text
    for value, sign in _SIGNS:
        while rest.startswith(sign):
            number, rest = number + value, rest[len(sign) :]
    if rest or not 1 <= number <= 3999 or to_roman(number) != text:
        raise ValueError(f"{text!r} is no roman numeral")
    return number
