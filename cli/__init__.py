"""The `fettle` command: a client of the HTTP API, and what starts a deployment's programs.

main         finds a command; `commands/` has a module for each
service      the API, a method a call; `stream`: a job's events, over broken connections
following    a job to its end: `live` shows it, `tally` counts it, `asking` lets a person decide
render/      what the service says as parts, lines and pictures: pure; `screen` writes them
supervisor   keeps the programs of `deployment` running; `processes` starts and ends them
checkup      what is wrong, by GET /system; `local_checkup`: where no service answers
demo/        `make demo`; `replay/`: a finished job, played again from its recording
"""
