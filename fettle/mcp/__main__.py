"""`python -m fettle.mcp`: the server over stdio. FETTLE_URL and FETTLE_API_KEY name the service."""

import sys
from importlib import import_module

from fettle.errors import FettleError


def main() -> int:
    """Serve until stdin is closed. Exit code 2 if the settings cannot be used."""
    try:
        import_module("fettle.mcp.stdio").run(None, None)
    except ModuleNotFoundError as error:
        if f"{error.name}.".partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        sys.stderr.write("the SDK of MCP is not installed: pip install 'fettle-client[mcp]'\n")
        return 2
    except FettleError as error:
        sys.stderr.write(f"{error}\n{error.remedy}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
