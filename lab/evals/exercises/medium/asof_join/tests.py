import numpy as np
import pandas as pd
from solution import priced

SECOND = pd.Timedelta(seconds=1)


def at(seconds):
    return pd.Timestamp("2024-01-01 12:00") + pd.Timedelta(seconds=seconds)


def trades(*lines, index=None):
    frame = pd.DataFrame(lines, columns=["time", "symbol", "quantity"], index=index)
    return frame.assign(time=[at(s) for s in frame["time"]])


def quotes(*lines):
    frame = pd.DataFrame(lines, columns=["time", "symbol", "price"])
    return frame.astype({"price": float}).assign(time=[at(s) for s in frame["time"]])


def prices(frame):
    return [None if np.isnan(price) else price for price in frame["price"]]


def test_order_and_index_stay():
    given = trades((9, "A", 1), (1, "B", 2), (5, "A", 3), index=[30, 10, 30])
    got = priced(given, quotes((8, "A", 80), (0, "B", 7), (4, "A", 40)), 60 * SECOND)
    assert prices(got) == [80, 7, 40]
    assert list(got.index) == [30, 10, 30]
    assert list(got.columns) == ["time", "symbol", "quantity", "price"]
    assert got["quantity"].tolist() == [1, 2, 3]


def test_each_symbol_for_itself():
    got = priced(trades((5, "A", 1), (5, "C", 1)), quotes((4, "B", 1), (1, "A", 2)), 60 * SECOND)
    assert prices(got) == [2, None]


def test_times_at_the_edges():
    given = trades((10, "A", 1), (11, "A", 1), (12, "A", 1), (9, "A", 1))
    assert prices(priced(given, quotes((10, "A", 5)), SECOND)) == [5, 5, None, None]


def test_the_last_of_the_same_time():
    found = quotes((3, "A", 1), (3, "B", 9), (3, "A", 2), (2, "A", 3))
    assert prices(priced(trades((3, "A", 1)), found, SECOND)) == [2]


def test_a_missing_price_is_no_quote():
    found = quotes((3, "A", 1), (4, "A", np.nan))
    assert prices(priced(trades((5, "A", 1)), found, 60 * SECOND)) == [1]


def test_nothing_changes():
    given, found = trades((5, "A", 1), (1, "A", 2)), quotes((4, "A", 1), (0, "A", 2))
    before = given.copy(), found.copy()
    priced(given, found, SECOND)
    pd.testing.assert_frame_equal(given, before[0])
    pd.testing.assert_frame_equal(found, before[1])


def test_no_quotes():
    assert prices(priced(trades((5, "A", 1)), quotes((4, "A", 1)).iloc[:0], SECOND)) == [None]
