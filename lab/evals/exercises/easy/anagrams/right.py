import unicodedata


def anagrams(words):
    groups = {}
    for word in dict.fromkeys(words):
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold())
        groups.setdefault("".join(sorted(folded)), []).append(word)
    return [group for group in groups.values() if len(group) > 1]
