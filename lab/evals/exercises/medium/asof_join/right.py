import numpy as np


def priced(trades, quotes, tolerance):
    known = quotes.dropna(subset=["price"]).sort_values("time", kind="stable")
    of = {symbol: lines for symbol, lines in known.groupby("symbol")}
    prices = [
        _price(of.get(symbol), time, tolerance)
        for time, symbol in zip(trades["time"], trades["symbol"], strict=True)
    ]
    return trades.assign(price=np.array(prices, dtype=float))


def _price(lines, time, tolerance):
    if lines is None:
        return np.nan
    place = lines["time"].searchsorted(time, side="right") - 1
    if place < 0 or time - lines["time"].iloc[place] > tolerance:
        return np.nan
    return lines["price"].iloc[place]
