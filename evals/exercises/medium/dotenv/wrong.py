"""Line by line: a quoted value ends with its line, and every # begins a comment."""


def read_env(text):
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        line = line.removeprefix("export ").strip()
        name, sign, value = line.partition("=")
        name, value = name.strip(), value.strip()
        if not sign or not name.isidentifier():
            raise ValueError(f"line {number}")
        if value[:1] in ("'", '"'):
            quote, value = value[0], value[1:]
            if quote not in value:
                raise ValueError(f"line {number}")
            value = value[: value.index(quote)]
            if quote == '"':
                value = value.replace("\\n", "\n").replace("\\t", "\t").replace("\\\\", "\\")
        else:
            value = value.split("#")[0].strip()
        found[name] = value
    return found
