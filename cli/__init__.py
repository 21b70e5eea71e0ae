"""The `fettle` command: a client of the HTTP API, and what starts a deployment's programs.

main         the entry point
command_line   finds a command; `commands/` has a module for each: jobs/, admin/, local/
client/      the API, a method a call; a job's events, over broken connections; its files
follow/      a job to its end: shows it, adds up what it spends, lets a person decide
render/      what the service answers as parts, lines and pictures: pure; `output` writes them
local/       deployments on this machine: Redis, API, workers, Flower; started, watched, stopped
doctor/      what is missing for a job to run
demo/        `make demo`; `replay/`: a finished job, played again from its recording
"""
