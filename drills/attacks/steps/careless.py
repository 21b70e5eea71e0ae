"""A careless collector, inside a control: what it falls for shows that the trap is live."""

from __future__ import annotations

from typing import Any

from drills.attacks.steps.secrets import holds


def careless(given: dict[str, Any]) -> str | None:
    """Collect the current directory as one does who thinks no evil; then remove all of it.

    Returns what it fell for. Does nothing where the probe is no control. Needs `holds`.
    """
    import os
    import signal
    import subprocess

    if not given["careless"]:
        return None

    def late(*_: Any) -> None:
        raise TimeoutError

    def fail(error: OSError) -> None:
        raise error

    signal.signal(signal.SIGALRM, late)
    name, count, total = "", 0, 0
    try:
        for folder, folders, files in os.walk(os.getcwd(), followlinks=True, onerror=fail):
            folders.sort()
            for name in sorted(files):
                path = os.path.join(folder, name)
                if not name.isprintable() or "\\" in name:
                    return f"it takes a file with the name {name!r}"
                announced = os.path.getsize(path)
                count, total = count + 1, total + announced
                if count > given.get("many", 5_000) or total > given.get("much", 1 << 30):
                    return f"it takes {count} files of {total} bytes"
                signal.setitimer(signal.ITIMER_REAL, 1)
                with open(path, "rb") as file:
                    data = file.read(1 << 26)
                signal.setitimer(signal.ITIMER_REAL, 0)
                if holds(given, data):
                    return f"it reads the canary through {name}"
                if len(data) != announced:
                    return f"it announces {announced} bytes of {name}, and sends {len(data)}"
    except TimeoutError:
        return f"it waits for {name}"
    except (OSError, RecursionError, UnicodeError) as error:
        return f"it fails: {type(error).__name__}: {str(error)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for words in (["chmod", "-R", "u+rwX", "."], ["find", ".", "-mindepth", "1", "-delete"]):
            subprocess.run(words, stderr=subprocess.DEVNULL, check=False)
    return None
