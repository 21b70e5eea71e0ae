"""The division alone: any country, any length, any check digits."""


def iban(text):
    bare = text.replace(" ", "").replace("-", "").upper()
    try:
        number = int("".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4]))
    except ValueError:
        raise ValueError(text) from None
    if number % 97 != 1:
        raise ValueError(text)
    return " ".join(bare[at : at + 4] for at in range(0, len(bare), 4))
