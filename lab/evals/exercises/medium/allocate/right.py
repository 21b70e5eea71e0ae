from fractions import Fraction


def allocate(cents, weights):
    exact = [Fraction(repr(w)) if isinstance(w, float) else Fraction(w) for w in weights]
    if any(weight < 0 for weight in exact) or sum(exact) == 0:
        raise ValueError("weights are not negative, and add up to more than zero")
    if cents < 0:
        return [-part for part in allocate(-cents, weights)]
    due = [cents * weight / sum(exact) for weight in exact]
    parts = [int(part) for part in due]
    by_loss = sorted(range(len(due)), key=lambda n: parts[n] - due[n])
    for number in by_loss[: cents - sum(parts)]:
        parts[number] += 1
    return parts
