"""The cheapest way without free roads, and then its dearest roads for nothing."""

import heapq
from collections import defaultdict


def cheapest(roads, start, goal, free):
    if free < 0:
        raise ValueError("free")
    out = defaultdict(dict)
    for a, b, toll in roads:
        out[a][b] = min(toll, out[a].get(b, toll))
    waiting, done = [(0, 1, [start], [])], set()
    while waiting:
        cost, count, way, tolls = heapq.heappop(waiting)
        if way[-1] == goal:
            return sum(sorted(tolls, reverse=True)[free:]), way
        if way[-1] in done:
            continue
        done.add(way[-1])
        for other, toll in out[way[-1]].items():
            heapq.heappush(waiting, (cost + toll, count + 1, [*way, other], [*tolls, toll]))
    return None
