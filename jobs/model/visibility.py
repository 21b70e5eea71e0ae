"""Characters that a reader cannot see, or that change the text around them. Pure.

Texts of models, programs and people are evidence. Such a character could hide words from a
reviewer, reorder them on a screen, or make an empty remark look like a remark. This is the only
definition: a page, a terminal, a chat message, a verdict, a patch and a decision share it. Only
`agents.texts` has a copy of `_SHAPELESS`, because `agents` does not import `jobs`.
"""

from __future__ import annotations

import re
import unicodedata

_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Control and format characters (direction marks, joiners, tags), half surrogate pairs, private and
unassigned characters, separators of lines and paragraphs."""
_SHAPELESS = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U0001d159"
    r"\U000e0000-\U000e0fff]"
)
"""Characters of other categories without a shape: the combining grapheme joiner, fillers of Hangul,
inherent vowels of Khmer, the blank pattern of Braille, an empty note head, and variation selectors;
and the block of tags and selectors, also the part that is unassigned."""
_SHAPES = frozenset("LNPS")
"""The major categories of characters with a shape of their own: letters, numbers, punctuation and
symbols. A space has no shape, and a combining mark needs another character."""
_PLAIN = re.compile(r"[\t\n -~]*")
_EMOJI_SELECTOR = re.compile(
    r"(?<=[\xa9\xae\u2100-\u27bf\u2900-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])"
    r"[\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)"
)


def is_invisible(character: str) -> bool:
    """Whether a reader does not see the character, or it changes how others are shown. Tabs and
    ends of lines count, too; other spaces do not."""
    if _SHAPELESS.match(character):
        return True
    return unicodedata.category(character) in _CATEGORIES


def has_visible_text(text: str) -> bool:
    """Whether a reader sees anything of the text."""
    return any(
        unicodedata.category(character)[0] in _SHAPES and not is_invisible(character)
        for character in text
    )


def escape_invisible(text: str) -> str:
    r"""The text with each invisible character as Python escapes it, such as `\u200b`. Tabs and line
    feeds stay."""
    return text if _PLAIN.fullmatch(text) else text.translate(_Escapes())


def in_backticks(text: str) -> str:
    """The text as a quotation, which a backtick in the text cannot end: models choose commands,
    paths and lines, and the words after a quotation are Fettle's own."""
    return "`" + text.replace("`", "'") + "`"


def escape_character(character: str) -> str:
    r"""The character as an escape of Python: `\x1b`, `\u200b`, `\U000e0041`."""
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def drop_emoji_selectors(text: str) -> str:
    """The text without the one variation selector that may follow an emoji: it chooses between a
    colored and a plain picture. Other variation selectors stay, because they can carry data."""
    return _EMOJI_SELECTOR.sub("", text)


class _Escapes(dict[int, str]):
    """The table of one call of `str.translate`, which each character of the text extends once."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        stays = character in "\t\n" or not is_invisible(character)
        replacement = self[code] = character if stays else escape_character(character)
        return replacement
