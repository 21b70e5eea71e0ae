"""The weight that counts for the price."""

from decimal import Decimal

CUBIC_CM_PER_KG = Decimal(5000)


def size_weight(size):
    """The weight in kg that a size (length, width, height in cm) stands for."""
    length, width, height = map(Decimal, size)
    return length * width * height / CUBIC_CM_PER_KG


def counted_weight(kg, size=None):
    """The larger of the weight and the size weight."""
    if size is None:
        return kg
    return max(kg, size_weight(size))
