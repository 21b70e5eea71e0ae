"""Describes the interpreter that runs it, as JSON: {tags, markers}. `tags` are the wheel tags that
the interpreter supports, best first; `markers` is the environment for conditional dependencies."""

from __future__ import annotations

import json
import sys

from packaging.markers import default_environment
from packaging.tags import sys_tags

if __name__ == "__main__":
    description = {"tags": list(map(str, sys_tags())), "markers": dict(default_environment())}
    sys.stdout.write(json.dumps(description))
