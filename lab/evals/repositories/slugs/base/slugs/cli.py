"""The command: `slugs title TEXT` and `slugs files [--apply] FOLDER`."""

import argparse
from pathlib import Path

from slugs.files import new_names
from slugs.text import slugify


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="slugs")
    commands = parser.add_subparsers(dest="command", required=True)
    title = commands.add_parser("title")
    title.add_argument("text")
    files = commands.add_parser("files")
    files.add_argument("folder", type=Path)
    files.add_argument("--apply", action="store_true")
    options = parser.parse_args(arguments)
    if options.command == "title":
        print(slugify(options.text))
        return 0
    names = sorted(path.name for path in options.folder.iterdir() if path.is_file())
    for old, new in new_names(names).items():
        print(f"{old} -> {new}")
        if options.apply and old != new:
            (options.folder / old).rename(options.folder / new)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
