import argparse
import sys
from pathlib import Path


def counted(data):
    return data.count(b"\n"), len(data.split()), len(data)


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
        shown = [str(count) for count, wanted in zip(counts, asked, strict=True) if wanted]
        print(*shown, *name)

    if not options.files:
        show(counted(sys.stdin.buffer.read()))
        return 0
    total, failed = [0, 0, 0], False
    for name in options.files:
        try:
            counts = counted(Path(name).read_bytes())
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr)
            failed = True
            continue
        total = [a + b for a, b in zip(total, counts, strict=True)]
        show(counts, name)
    if len(options.files) > 1:
        show(total, "total")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
