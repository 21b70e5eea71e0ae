import unicodedata

from solution import anagrams


def test_groups_in_order():
    words = ["tea", "dog", "ate", "god", "eat", "lonely"]
    assert anagrams(words) == [["tea", "ate", "eat"], ["dog", "god"]]


def test_the_same_word_twice():
    assert anagrams(["tea", "tea"]) == []
    assert anagrams(["Eat", "eat", "Eat", "tea"]) == [["Eat", "eat", "tea"]]


def test_case_is_folded_and_not_only_lowered():
    assert anagrams(["Straße", "STRASSE", "x"]) == [["Straße", "STRASSE"]]


def test_accents_count_however_they_are_composed():
    whole = "résumé"
    parts = unicodedata.normalize("NFD", whole)
    assert whole != parts
    assert anagrams([whole, "resume", parts]) == [[whole, parts]]
    assert anagrams(["resume", whole]) == []
    # the accent belongs to its letter
    assert anagrams([unicodedata.normalize("NFD", "éa"), "áe"]) == []


def test_nothing():
    assert anagrams([]) == []
