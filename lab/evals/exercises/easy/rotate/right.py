def rotate(items, by):
    size = len(items)
    if not size or not by % size:
        return
    by %= size
    _turn(items, 0, size - 1)
    _turn(items, 0, by - 1)
    _turn(items, by, size - 1)


def _turn(items, low, high):
    while low < high:
        items[low], items[high] = items[high], items[low]
        low, high = low + 1, high - 1
