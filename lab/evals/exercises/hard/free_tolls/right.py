import heapq
from collections import defaultdict


def cheapest(roads, start, goal, free):
    if free < 0:
        raise ValueError("free roads cannot be fewer than none")
    out = defaultdict(dict)
    for a, b, toll in roads:
        out[a][b] = min(toll, out[a].get(b, toll))
    # (cost, roads, way) is compared as a whole: the first that reaches (town, used) is its best
    waiting = [(0, 0, (start,), 0)]
    best = set()
    while waiting:
        cost, count, way, used = heapq.heappop(waiting)
        town = way[-1]
        if town == goal:
            return cost, list(way)
        if (town, used) in best:
            continue
        best.add((town, used))
        for other, toll in out[town].items():
            if (other, used) not in best:
                heapq.heappush(waiting, (cost + toll, count + 1, (*way, other), used))
            if used < free and (other, used + 1) not in best:
                heapq.heappush(waiting, (cost, count + 1, (*way, other), used + 1))
    return None
