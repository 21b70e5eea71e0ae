"""How deep a body is and how many values it has, wherever its pieces end."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from api.http.json_shape import DEEPEST, MARKS_A_VALUE, JsonShape

MOST = 20
TEXTS = st.text(alphabet='a"\\[]{},: ü\n', max_size=12)
BODIES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=60,
)


def refused(raw: bytes, piece: int, most: int = MOST) -> bool:
    shape = JsonShape(most)
    for start in range(0, len(raw), piece):
        shape.feed(raw[start : start + piece])
    return shape.wrong is not None


def values(body: object) -> int:
    inner = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    return 1 + sum(values(each) for each in inner)


def depth(body: object) -> int:
    inner = body.values() if isinstance(body, dict) else body if isinstance(body, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


@given(BODIES, st.integers(1, 40), st.booleans())
def test_what_is_within_its_limits_passes_and_what_is_far_beyond_does_not(body, piece, ascii_only):
    raw = json.dumps(body, ensure_ascii=ascii_only).encode()
    assert refused(raw, piece) == refused(raw, len(raw))
    if depth(body) > DEEPEST or values(body) > MARKS_A_VALUE * MOST + 1:
        assert refused(raw, piece)
    elif values(body) <= MOST:
        assert not refused(raw, piece)


def test_text_counts_for_nothing():
    raw = json.dumps({"files": {"a.py": '{"[,' * 10_000, "b": "\\" * 9_999}}).encode()
    for piece in (1, 7, 65_536):
        assert not refused(raw, piece)
