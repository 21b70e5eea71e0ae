"""Sorts code points of the lowered word: neither folding nor composing."""


def anagrams(words):
    groups = {}
    for word in dict.fromkeys(words):
        groups.setdefault("".join(sorted(word.lower())), []).append(word)
    return [group for group in groups.values() if len(group) > 1]
