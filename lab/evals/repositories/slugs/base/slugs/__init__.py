"""Short names for web addresses and files."""

from slugs.files import new_names
from slugs.text import slugify

__all__ = ["new_names", "slugify"]
