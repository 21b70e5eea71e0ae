"""Writes matplotlib's font cache to MPLCONFIGDIR, without the fonts of this machine."""

from __future__ import annotations

import json
import sys
from pathlib import Path

try:
    import matplotlib.font_manager
except ModuleNotFoundError:  # an environment need not have it
    sys.exit()

for cache in Path(matplotlib.get_cachedir()).glob("fontlist-*.json"):
    content = json.loads(cache.read_text())
    for kind in ("ttflist", "afmlist"):
        # matplotlib lists its own fonts relative to its own folder.
        content[kind] = [font for font in content[kind] if not font["fname"].startswith("/")]
    cache.write_text(json.dumps(content))
