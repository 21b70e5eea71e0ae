"""What a fresh, isolated run costs, beside a bare interpreter that is not isolated at all.

programs   what both sides run: `print(1)`, and a plot that is saved and collected
bare       `python -I -c` of the same interpreter, as a child of this process
fresh      the same in a fresh room of a backend
turns      both sides in turn, so that a slow moment of the machine meets both
figures    medians, ratios and goals; pure
"""
