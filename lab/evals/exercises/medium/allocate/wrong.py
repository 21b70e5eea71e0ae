"""Rounds each part as a float, and gives the difference to the first."""


def allocate(cents, weights):
    total = sum(weights)
    if not weights or any(weight < 0 for weight in weights) or total == 0:
        raise ValueError("weights are not negative, and add up to more than zero")
    parts = [round(cents * float(weight) / float(total)) for weight in weights]
    parts[0] += cents - sum(parts)
    return parts
