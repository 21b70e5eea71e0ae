"""Notes as Markdown."""

from shipnotes.kinds import KINDS


def render(version, fragments):
    lines = [f"# {version}"]
    for kind, title in KINDS.items():
        of_kind = [each for each in fragments if each.kind == kind]
        if of_kind:
            lines += ["", f"## {title}", ""]
            lines += [f"- {each.text} (#{each.number})" for each in of_kind]
    return "\n".join(lines) + "\n"
