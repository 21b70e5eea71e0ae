import math


def roots(a, b, c):
    largest = max(abs(a), abs(b), abs(c))
    if largest == 0:
        raise ValueError("every x solves it")
    shift = -math.frexp(largest)[1]  # a power of two: nothing is rounded
    a, b, c = (math.ldexp(each, shift) for each in (a, b, c))
    if a == 0:
        return (-c / b + 0.0,) if b else ()
    below = b * b - 4 * a * c
    if below < 0:
        return ()
    far = -(b + math.copysign(math.sqrt(below), b)) / 2
    if far == 0:
        return (0.0,)
    return tuple(sorted({far / a + 0.0, c / far + 0.0}))
