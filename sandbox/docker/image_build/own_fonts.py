"""Writes matplotlib's font cache to MPLCONFIGDIR, without the fonts of this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

try:
    import matplotlib.font_manager
except ModuleNotFoundError:  # an environment may well be without it
    sys.exit()

for cache in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    found = json.loads(cache.read_text())
    for kind in ("ttflist", "afmlist"):
        # What matplotlib brings itself is listed relative to its own folder.
        found[kind] = [font for font in found[kind] if not font["fname"].startswith("/")]
    cache.write_text(json.dumps(found))
