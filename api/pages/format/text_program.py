"""Colours code and compares texts, in a process that `text_process` starts and ends.

It reads one request a line, as JSON, and answers it with one line of JSON:

    {"seconds": 2, "code": "x = 1\\n", "lexer": "python"}       "<span class=...>...\\n"
    {"seconds": 2, "before": ["a"], "after": ["b"]}            ["@@ -1 +1 @@", "-a", "+b"]

The first line that it writes says that it is ready. The kernel ends it if a request takes longer
than its seconds, and it ends by itself when its input does. It is a separate program: it does not
import Fettle, and gets no environment, no key and no connection.
"""

from __future__ import annotations

import json
import math
import resource
import signal
import sys
from difflib import unified_diff
from itertools import islice
from typing import Any

from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name

MEMORY_BYTES = 1 << 30
_FORMATTER: HtmlFormatter[str] = HtmlFormatter(nowrap=True)


def answer(request: dict[str, Any]) -> Any:
    """The answer to a request."""
    if "lexer" in request:
        lexer = get_lexer_by_name(request["lexer"], stripnl=False, ensurenl=False)
        return highlight(request["code"], lexer, _FORMATTER)
    diff = unified_diff(request["before"], request["after"], lineterm="")
    return list(islice(diff, 2, None))  # without the names of files


def main() -> None:
    """Answer requests until the input ends."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    print("null", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        signal.alarm(math.ceil(request["seconds"]))
        print(json.dumps(answer(request)), flush=True)
        signal.alarm(0)


if __name__ == "__main__":
    main()
