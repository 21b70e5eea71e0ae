"""The `fettle` command: a client of the HTTP API; it also starts deployments on this machine.

main         the entry point; `command_line` has the table of the commands
commands/    the commands, by theme: jobs/, admin/, local/
client/      a method for each call of the API; a job's events and files
follow/      a job to its end: its progress, its spending, its reviews
render/      answers of the service as parts, lines and pictures (pure); `output` writes them
local/       deployments on this machine: Redis, API, workers, Flower; started, watched, stopped
doctor/      checks whether a job can run
demo/        `make demo`; `replay/`: a finished job, played again from its recording
"""
