class _Order:
    def __init__(self):
        self.status = None
        self.due = self.paid = self.refund = 0
        self.next = 1
        self.waiting = {}


class Orders:
    def __init__(self):
        self._known = set()
        self._orders = {}

    def apply(self, event):
        if event["id"] in self._known:
            return "duplicate"
        self._known.add(event["id"])
        order = self._orders.setdefault(event["order"], _Order())
        seq = event["seq"]
        if seq < order.next or seq in order.waiting:
            return "conflict"
        if seq > order.next:
            order.waiting[seq] = event
            return "waiting"
        answer = _take(order, event)
        while order.next in order.waiting:
            _take(order, order.waiting.pop(order.next))
        return answer

    def state(self, order):
        found = self._orders.get(order) or _Order()
        return {
            "status": found.status,
            "due": found.due,
            "paid": found.paid,
            "refund": found.refund,
            "waiting": len(found.waiting),
        }


def _take(order, event):
    order.next += 1
    kind, amount = event["kind"], event.get("amount") or 0
    match order.status, kind:
        case None, "placed" if amount >= 1:
            order.status, order.due = "open", amount
        case "open", "paid" if 1 <= amount <= order.due - order.paid:
            order.paid += amount
            order.status = "paid" if order.paid == order.due else "open"
        case "paid", "shipped":
            order.status = "shipped"
        case "open" | "paid", "cancelled":
            order.status, order.refund = "cancelled", order.paid
        case "shipped", "returned":
            order.status, order.refund = "returned", order.paid
        case _:
            return "refused"
    return "applied"
