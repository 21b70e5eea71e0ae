"""Play recordings in a network namespace that has only loopback.

A program: `offline_playback.py FOLDER`, with the folder of recordings. It reads jobs from stdin, as
a JSON list of bodies of POST /jobs, and prints one line of JSON: each job with its events, and the
interfaces of the namespace.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from cli.local.throwaway import throwaway
from cli.output import Screen
from fettle import Service
from lab.drills.attacks.environment.netspace import leave_the_network


def play_job(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """The finished job, with its events."""
    job_id = service.submit(body)["id"]
    events = [{"kind": event.kind, "data": event.data} for event in service.events(job_id)]
    return {"job": service.job(job_id), "events": events}


if __name__ == "__main__":
    bodies = json.load(sys.stdin)
    leave_the_network()
    interfaces = [name for _, name in socket.if_nameindex()]
    # The recordings were also made without mutations.
    env = {"FETTLE_RECORDINGS_DIR": sys.argv[1], "FETTLE_MUTATIONS": "0"}
    with throwaway(Screen(stderr=True), env=env) as service:
        jobs = [play_job(service, body) for body in bodies]
    sys.stdout.write(json.dumps({"interfaces": interfaces, "jobs": jobs}))
