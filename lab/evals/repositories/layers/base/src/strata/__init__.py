"""Settings out of layers."""

from strata.settings import Strata
from strata.sources import from_environment, from_file, from_words

__all__ = ["Strata", "from_environment", "from_file", "from_words"]
