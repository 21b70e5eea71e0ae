"""The cost of a fresh, isolated run, compared with a bare interpreter without isolation.

programs   the programs of both sides: `print(1)`, and a plot that is saved and collected
baseline   the bare side: `python -I -c` of the same interpreter, as a child of this process
turns      both sides in turn, so that a slow moment of the machine affects both
figures    medians, ratios and goals; pure
"""
