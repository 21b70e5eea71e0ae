"""Rows of text."""


def columns(rows):
    """Lines with the first column to the left and the others to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(width) if at else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in rows
    ]
