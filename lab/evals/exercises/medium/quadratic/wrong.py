"""The formula from school: the small root is a difference of two large numbers."""

import math


def roots(a, b, c):
    if a == 0:
        if b == 0:
            if c == 0:
                raise ValueError("every x solves it")
            return ()
        return (-c / b + 0.0,)
    below = b * b - 4 * a * c
    if below < 0:
        return ()
    root = math.sqrt(below)
    return tuple(sorted({(-b - root) / (2 * a) + 0.0, (-b + root) / (2 * a) + 0.0}))
