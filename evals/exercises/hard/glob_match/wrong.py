"""A regular expression: right for the usual ones, and stars upon stars take for ever."""

import re


def matches(pattern, path):
    made, at = "", 0
    while at < len(pattern):
        sign = pattern[at]
        if pattern.startswith("**/", at):
            made += "(?:.*/)?"
            at += 3
            continue
        if pattern.startswith("**", at):
            made += ".*"
            at += 2
            continue
        if sign == "*":
            made += "[^/]*"
        elif sign == "?":
            made += "[^/]"
        elif sign == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            inside = pattern[at + 1 : end].replace("\\", "\\\\")
            made += "[" + ("^" + inside[1:] if inside[0] == "!" else inside) + "]"
            at = end
        else:
            made += re.escape(sign)
        at += 1
    return re.fullmatch(made, path, re.DOTALL) is not None
