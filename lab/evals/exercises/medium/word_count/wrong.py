"""Reads text: it stumbles over bytes, and counts a last line without a newline."""

import argparse
import sys
from pathlib import Path


def counted(text):
    return len(text.splitlines()), len(text.split()), len(text)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    for flag in "lwc":
        parser.add_argument(f"-{flag}", action="store_true")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    asked = [options.l, options.w, options.c]
    if not any(asked):
        asked = [True] * 3

    def show(counts, *name):
        print(*[count for count, wanted in zip(counts, asked, strict=True) if wanted], *name)

    if not options.files:
        show(counted(sys.stdin.read()))
        return 0
    total, code = [0, 0, 0], 0
    for name in options.files:
        try:
            counts = counted(Path(name).read_text())
        except OSError as error:
            print(f"{name}: {error}", file=sys.stderr)
            code = 1
            continue
        total = [a + b for a, b in zip(total, counts, strict=True)]
        show(counts, name)
    if len(options.files) > 1:
        show(total, "total")
    return code


if __name__ == "__main__":
    sys.exit(main())
