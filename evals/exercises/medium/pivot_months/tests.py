import numpy as np
import pandas as pd
from solution import monthly


def sales(*lines):
    frame = pd.DataFrame(lines, columns=["day", "region", "amount"])
    return frame.astype({"amount": float}).assign(day=pd.to_datetime(frame["day"]))


def test_months_without_a_sale_are_there():
    got = monthly(
        sales(("2024-01-31", "west", 1.5), ("2024-04-01", "east", 2), ("2024-01-02", "west", 1))
    )
    assert list(got.columns) == ["east", "west"]
    assert got.columns.name == "region"
    assert [str(month) for month in got.index] == ["2024-01", "2024-02", "2024-03", "2024-04"]
    assert isinstance(got.index, pd.PeriodIndex)
    assert got.index.name == "month"
    assert got["west"].tolist() == [2.5, 0.0, 0.0, 0.0]
    assert got["east"].tolist() == [0.0, 0.0, 0.0, 2.0]


def test_the_turn_of_the_year():
    got = monthly(sales(("2023-12-31", "a", 1), ("2024-02-01", "a", 1)))
    assert [str(month) for month in got.index] == ["2023-12", "2024-01", "2024-02"]
    assert got.index.freqstr in ("M", "ME")


def test_what_is_missing():
    lines = [
        ("2024-02-01", "a", np.nan),
        ("2024-01-01", None, 5),
        (None, "a", 7),
        ("2024-03-01", "b", 1),
    ]
    got = monthly(sales(*lines))
    assert [str(month) for month in got.index] == ["2024-02", "2024-03"]
    assert got["a"].tolist() == [0.0, 0.0]
    assert got["b"].tolist() == [0.0, 1.0]
    assert all(kind == np.float64 for kind in got.dtypes)


def test_the_input_stays_as_it_is():
    given = sales(("2024-01-31", "a", 1), ("2024-01-31", "a", np.nan))
    given.index = [7, 7]
    before = given.copy(deep=True)
    assert monthly(given)["a"].tolist() == [1.0]
    pd.testing.assert_frame_equal(given, before)


def test_nothing():
    assert monthly(sales()).shape == (0, 0)
    assert monthly(sales((None, "a", 1))).shape == (0, 0)
