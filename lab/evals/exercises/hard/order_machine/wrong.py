"""Takes events as they come, once the one before has come; a refused one holds up the rest."""


class Orders:
    def __init__(self):
        self._known = set()
        self._orders = {}

    def apply(self, event):
        if event["id"] in self._known:
            return "duplicate"
        order = self._orders.setdefault(
            event["order"],
            {"status": None, "due": 0, "paid": 0, "refund": 0, "next": 1, "waiting": {}},
        )
        if event["seq"] < order["next"]:
            return "conflict"
        self._known.add(event["id"])
        if event["seq"] > order["next"]:
            order["waiting"][event["seq"]] = event
            return "waiting"
        answer = self._take(order, event)
        while order["next"] in order["waiting"]:
            if self._take(order, order["waiting"].pop(order["next"])) == "refused":
                break
        return answer

    def _take(self, order, event):
        amount = event.get("amount", 0)
        step = (order["status"], event["kind"])
        if step == (None, "placed"):
            order.update(status="open", due=amount)
        elif step == ("open", "paid") and order["paid"] + amount <= order["due"]:
            order["paid"] += amount
            if order["paid"] == order["due"]:
                order["status"] = "paid"
        elif step == ("paid", "shipped"):
            order["status"] = "shipped"
        elif event["kind"] == "cancelled" and order["status"] in ("open", "paid"):
            order.update(status="cancelled", refund=order["paid"])
        elif step == ("shipped", "returned"):
            order.update(status="returned", refund=order["paid"])
        else:
            return "refused"
        order["next"] += 1
        return "applied"

    def state(self, order):
        found = self._orders.get(order, {})
        shown = {name: found.get(name, 0) for name in ("due", "paid", "refund")}
        waiting = len(found.get("waiting", ()))
        return {"status": found.get("status"), **shown, "waiting": waiting}
