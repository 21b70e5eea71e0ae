"""The command line."""

import argparse
import sys
from pathlib import Path

from shipnotes import fragments
from shipnotes.errors import NotesError
from shipnotes.notes import render
from shipnotes.own_version import own_version
from shipnotes.versions import Version, following


def main(words=None):
    parser = argparse.ArgumentParser(prog="shipnotes")
    parser.add_argument("--version", action="version", version=own_version())
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("notes")
    one.add_argument("folder", type=Path)
    one.add_argument("--title", default="Unreleased")
    one = commands.add_parser("next")
    one.add_argument("current")
    one.add_argument("folder", type=Path)
    asked = parser.parse_args(words)
    try:
        found = fragments.read(asked.folder)
        if asked.command == "notes":
            print(render(asked.title, found), end="")
        else:
            print(following(Version.read(asked.current), [each.kind for each in found]))
    except NotesError as error:
        print(f"shipnotes: {error}", file=sys.stderr)
        return 1
    return 0
