"""What it is worth and what it costs. Benchmarks are commands, `python -m bench.NAME`.

quality     how good an agent is (`fettle bench`); `exercises/` are ours, `humaneval/` OpenAI's
repair      whether failures are told for what they are, and mended
overhead    one job through the service, beside the same graph in a bare loop
sandbox     a fresh room, beside a bare interpreter
scale       many jobs at once, and one long job
tokens      what a long job sends
pages       how quick the pages are
provider    the model server on loopback that they ask, and tests and drills too
"""
