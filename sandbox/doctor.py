"""Whether code can be run here: `python -m sandbox.doctor [--python PATH] [--json]`.

Prints the layers of isolation and exits 0, or the reason and its remedy and exits 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from dataclasses import asdict
from pathlib import Path

from sandbox.local import LocalSandbox
from sandbox.protocol import Layer, SandboxUnavailable

_PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"


def main() -> int:
    """Check and tell; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.doctor", description=__doc__)
    parser.add_argument("--python", type=Path, default=_PYTHON, help="the sandbox's interpreter")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    try:
        layers = asyncio.run(_check(options.python))
    except SandboxUnavailable as reason:
        _print(options.json, (), str(reason))
        return 1
    _print(options.json, layers, None)
    return 0


async def _check(python: Path) -> tuple[Layer, ...]:
    sandbox = LocalSandbox(python, pool_size=0)
    try:
        return await sandbox.check()
    finally:
        await sandbox.close()


def _print(as_json: bool, layers: tuple[Layer, ...], reason: str | None) -> None:
    if as_json:
        found = {
            "backend": "local",
            "available": reason is None,
            "reason": reason,
            "layers": [asdict(layer) for layer in layers],
        }
        print(json.dumps(found))
    elif reason is not None:
        print(f"sandbox local: not available\n  {reason}")
    else:
        print("sandbox local: works")
        for layer in layers:
            print(f"  {'on ' if layer.active else 'off'}  {layer.name}: {layer.detail}")


if __name__ == "__main__":
    sys.exit(main())
