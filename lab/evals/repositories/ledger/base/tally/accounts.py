"""Names of accounts: parts with colons, `assets:bank:savings`."""


def parents(name):
    """The account and all above it, the widest last."""
    parts = name.split(":")
    return [":".join(parts[:count]) for count in range(len(parts), 0, -1)]


def within(name, account):
    """Whether `name` is `account` or lies below it."""
    return name == account or name.startswith(account + ":")


def depth(name):
    return name.count(":")
