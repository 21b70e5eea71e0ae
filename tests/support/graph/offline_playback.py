"""Plays recordings in a network namespace that has nothing but loopback.

A program: `offline_playback.py FOLDER`, the folder of recordings. Jobs are read from stdin, as a
JSON list of bodies of POST /jobs; prints one line of JSON: of each the job and its events, and the
namespace's interfaces.
"""

from __future__ import annotations

import json
import socket
import sys
from typing import Any

from cli.client.service import Service
from cli.local.throwaway import throwaway
from cli.output import Screen
from lab.drills.attacks.environment.netspace import leave_the_network


def played(service: Service, body: dict[str, Any]) -> dict[str, Any]:
    """The job as it ends, with its events."""
    job_id = service.submit(body)["id"]
    events = [{"kind": event.kind, "data": event.data} for event in service.events(job_id)]
    return {"job": service.job(job_id), "events": events}


if __name__ == "__main__":
    bodies = json.load(sys.stdin)
    leave_the_network()
    interfaces = [name for _, name in socket.if_nameindex()]
    env = {"FETTLE_RECORDINGS_DIR": sys.argv[1], "FETTLE_MUTATIONS": "0"}  # as when recorded
    with throwaway(Screen(stderr=True), env=env) as service:
        jobs = [played(service, body) for body in bodies]
    sys.stdout.write(json.dumps({"interfaces": interfaces, "jobs": jobs}))
