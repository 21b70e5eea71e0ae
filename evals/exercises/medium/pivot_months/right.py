import pandas as pd


def monthly(sales):
    usable = sales.dropna(subset=["day", "region"]).reset_index(drop=True)
    if usable.empty:
        return pd.DataFrame()
    month = usable["day"].dt.to_period("M").rename("month")
    sums = usable["amount"].fillna(0.0).groupby([month, usable["region"]]).sum().unstack("region")
    whole = pd.period_range(month.min(), month.max(), freq="M", name="month")
    table = sums.reindex(whole).fillna(0.0).astype(float)
    return table.sort_index(axis=1)
