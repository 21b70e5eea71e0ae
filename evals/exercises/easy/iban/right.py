import re

_LENGTHS = {"DE": 22, "GB": 22, "FR": 27, "NO": 15, "CH": 21}
_FORM = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]+")


def iban(text):
    bare = text.replace(" ", "")
    bare = bare.upper() if bare.isascii() else ""
    if not _FORM.fullmatch(bare) or len(bare) != _LENGTHS.get(bare[:2]):
        raise ValueError(f"{text!r} is no IBAN")
    number = int("".join(str(int(sign, 36)) for sign in bare[4:] + bare[:4]))
    if bare[2:4] in ("00", "01", "99") or number % 97 != 1:
        raise ValueError(f"{text!r} has a mistake in it")
    return " ".join(bare[at : at + 4] for at in range(0, len(bare), 4))
