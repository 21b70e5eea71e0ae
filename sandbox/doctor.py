"""Checks whether this machine can run code: `python -m sandbox.doctor [--backend docker] [--json]`.

Prints the isolation layers and exits 0, or prints the reason with its remedy and exits 1.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import IsolationLayer, Sandbox, SandboxUnavailable

_PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"


def main() -> int:
    """Check and print; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.doctor", description=__doc__)
    parser.add_argument("--backend", choices=("local", "docker"), default="local")
    parser.add_argument("--python", type=Path, default=_PYTHON, help="local: the interpreter")
    parser.add_argument("--image", default="fettle-sandbox", help="docker: the sandboxes' image")
    parser.add_argument("--engine", help="docker: unix:///path or tcp://host:port")
    parser.add_argument("--tls", type=Path, help="docker: folder of ca.pem, cert.pem and key.pem")
    parser.add_argument("--runtime", help="docker: another runtime, such as runsc")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    try:
        layers = asyncio.run(_check(options))
    except SandboxUnavailable as reason:
        _print(options, (), str(reason))
        return 1
    _print(options, layers, None)
    return 0


async def _check(options: argparse.Namespace) -> tuple[IsolationLayer, ...]:
    with tempfile.TemporaryDirectory(prefix="fettle-trees-") as folder:
        sandbox = _create_backend(options, Path(folder) / "trees")
        try:
            return await sandbox.check()
        finally:
            await sandbox.close()


def _create_backend(options: argparse.Namespace, trees_directory: Path) -> Sandbox:
    if options.backend == "local":
        return LocalSandbox(options.python, pool_size=0, trees_directory=trees_directory)
    return DockerSandbox(
        options.image,
        pool_size=0,
        engine=options.engine,
        tls=options.tls,
        runtime=options.runtime,
        trees_directory=trees_directory,
    )


def _print(
    options: argparse.Namespace, layers: tuple[IsolationLayer, ...], reason: str | None
) -> None:
    if options.json:
        report = {
            "backend": options.backend,
            "available": reason is None,
            "reason": reason,
            "layers": [asdict(layer) for layer in layers],
        }
        print(json.dumps(report))
    elif reason is not None:
        print(f"sandbox {options.backend}: not available\n  {reason}")
    else:
        print(f"sandbox {options.backend}: works")
        for layer in layers:
            print(f"  {'on ' if layer.active else 'off'}  {layer.name}: {layer.detail}")


if __name__ == "__main__":
    sys.exit(main())
