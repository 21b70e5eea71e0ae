from itertools import count, permutations

from solution import Orders

IDS = count()


def event(seq, kind, amount=None, order="o", id=None):
    made = {"id": id or f"e{next(IDS)}", "order": order, "seq": seq, "kind": kind}
    return made if amount is None else {**made, "amount": amount}


def state(status, due=0, paid=0, refund=0, waiting=0):
    return {"status": status, "due": due, "paid": paid, "refund": refund, "waiting": waiting}


def test_from_placed_to_returned():
    orders = Orders()
    story = [
        event(1, "placed", 500),
        event(2, "paid", 200),
        event(3, "paid", 300),
        event(4, "shipped"),
        event(5, "returned"),
    ]
    seen = []
    for each in story:
        assert orders.apply(each) == "applied"
        seen.append(orders.state("o")["status"])
    assert seen == ["open", "open", "paid", "shipped", "returned"]
    assert orders.state("o") == state("returned", 500, 500, 500)


def test_any_order_of_arrival_ends_alike():
    story = [
        event(1, "placed", 500),
        event(2, "paid", 500),
        event(3, "shipped"),
        event(4, "returned"),
    ]
    for arrival in permutations(story):
        orders = Orders()
        for each in arrival:
            orders.apply(each)
        assert orders.state("o") == state("returned", 500, 500, 500)


def test_what_comes_early_waits():
    orders = Orders()
    assert orders.apply(event(3, "shipped")) == "waiting"
    assert orders.apply(event(2, "paid", 5)) == "waiting"
    assert orders.state("o") == state(None, waiting=2)
    assert orders.apply(event(1, "placed", 5)) == "applied"
    assert orders.state("o") == state("shipped", 5, 5)


def test_duplicates():
    orders = Orders()
    first, early, refused = event(1, "placed", 5), event(3, "shipped"), event(2, "returned")
    assert orders.apply(first) == "applied"
    assert orders.apply(first) == "duplicate"
    assert orders.apply(early) == "waiting"
    assert orders.apply(early) == "duplicate"
    assert orders.apply(refused) == "refused"
    assert orders.apply(refused) == "duplicate"
    assert orders.apply({**first, "seq": 9, "order": "other"}) == "duplicate"
    assert orders.state("o") == state("open", 5)  # the early one was refused in its turn


def test_conflicts():
    orders = Orders()
    orders.apply(event(1, "placed", 5))
    orders.apply(event(3, "shipped"))
    conflict = event(1, "placed", 7)
    assert orders.apply(conflict) == "conflict"
    assert orders.apply(conflict) == "duplicate"
    assert orders.apply(event(3, "cancelled")) == "conflict"
    assert orders.apply(event(2, "returned")) == "refused"
    assert orders.apply(event(2, "paid", 5)) == "conflict"
    assert orders.state("o") == state("open", 5)


def test_refusals_use_up_their_number():
    orders = Orders()
    orders.apply(event(1, "placed", 5))
    assert orders.apply(event(2, "paid", 6)) == "refused"
    assert orders.apply(event(3, "paid")) == "refused"
    assert orders.apply(event(4, "paid", 0)) == "refused"
    assert orders.apply(event(5, "shipped")) == "refused"
    assert orders.apply(event(6, "paid", 5)) == "applied"
    assert orders.apply(event(7, "placed", 5)) == "refused"
    assert orders.state("o") == state("paid", 5, 5)


def test_a_refusal_first():
    orders = Orders()
    assert orders.apply(event(1, "paid", 5)) == "refused"
    assert orders.state("o") == state(None)
    assert orders.apply(event(2, "placed", 5)) == "applied"


def test_cancelling():
    orders = Orders()
    for each in (event(1, "placed", 9), event(2, "paid", 4), event(3, "cancelled")):
        assert orders.apply(each) == "applied"
    assert orders.state("o") == state("cancelled", 9, 4, 4)
    assert orders.apply(event(4, "paid", 5)) == "refused"


def test_orders_are_apart():
    orders = Orders()
    orders.apply(event(1, "placed", 9, order="a"))
    assert orders.apply(event(2, "paid", 9, order="b")) == "waiting"
    assert orders.state("a") == state("open", 9)
    assert orders.state("nobody") == state(None)
