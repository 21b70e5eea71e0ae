"""Describes the interpreter that runs it, as JSON: {tags, markers, there}."""

from __future__ import annotations

import json
import sys
from importlib.metadata import distributions

from packaging.markers import default_environment
from packaging.tags import sys_tags
from packaging.utils import canonicalize_name

if __name__ == "__main__":
    there = {
        canonicalize_name(each.metadata["Name"]): each.version
        for each in distributions()
        if each.metadata["Name"]
    }
    found = {
        "tags": [str(tag) for tag in sys_tags()],
        "markers": dict(default_environment()),
        "there": there,
    }
    sys.stdout.write(json.dumps(found))
