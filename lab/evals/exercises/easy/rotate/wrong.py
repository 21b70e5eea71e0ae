"""In place for whoever holds the list, but by way of a second one."""


def rotate(items, by):
    if items:
        by %= len(items)
        items[:] = items[-by:] + items[:-by] if by else items
