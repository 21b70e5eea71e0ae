"""The cost of the service: one job through it, compared with the same graph in one process.

job       the job that both do: 9 model calls (answered at once), 4 tool calls, 2 pauses
baseline  the graph in this process, with an in-memory saver
service   the same over HTTP: submit, follow the event stream, delegate at each pause
experiments  the time of the experiments of another job, which runs code
"""
