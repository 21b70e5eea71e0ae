"""`fettle replay`: play a finished job again, offline, and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from cli.client import Job
from cli.context import open_service
from cli.exit_codes import FAILED
from cli.output import Screen, print_json
from cli.render.parts import Tone
from cli.replay.comparison import PartComparison, compare
from cli.replay.original import fetch_original
from cli.replay.playing import play_again


@click.command()
@click.argument("job_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Print the comparison as one JSON object.")
@click.pass_obj
def replay_command(flags: Mapping[str, Any], job_id: str, *, as_json: bool) -> int:
    """Play the finished, recorded job ID again, and compare plan, runs, verdicts and outcome.

    The replies of models come from the job's recording, the decisions of people from the job; the
    code runs again, in the sandbox of a temporary deployment on this machine. Exits 1 where
    something differs.
    """
    screen = Screen(stderr=as_json)
    with open_service(flags) as service:
        original = fetch_original(service, job_id)
    played = play_again(original, screen)
    compared = compare(original.job, played)
    same = all(part.same for part in compared)
    if as_json:
        print_json({"job": job_id, "same": same, "detail": played["detail"], **_plain(compared)})
    else:
        _show(screen, compared, played)
    return 0 if same else FAILED


def _plain(compared: Sequence[PartComparison]) -> dict[str, Any]:
    parts = [
        {
            "part": part.part,
            "same": part.same,
            "differs": [
                {"what": name, "recorded": old, "played": new}
                for name, (old, new) in part.differs.items()
            ],
        }
        for part in compared
    ]
    return {"parts": parts}


def _show(screen: Screen, compared: Sequence[PartComparison], played: Job) -> None:
    heads = ("PART", "PLAYED AGAIN", "WHAT DIFFERS")
    screen.rows(heads, ((p.part, _word(p), ", ".join(p.differs)) for p in compared))
    different = [part for part in compared if not part.same]
    if not different:
        screen.line("replay", "everything is the same", Tone.GOOD)
        return
    screen.line("replay", f"{len(different)} of {len(compared)} parts differ", Tone.BAD)
    for line in [*different[0].difference_lines(), *played["detail"].split("\n")]:
        screen.text(line)


def _word(part: PartComparison) -> str:
    return "same" if part.same else "different"
