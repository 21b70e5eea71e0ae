"""Runs untrusted code: each run gets a new sandbox.

    backend = LocalSandbox(python)
    result = await backend.run(Command.python("print(1)"), Limits())

Backends: `local.LocalSandbox` (processes of this machine) and `docker.DockerSandbox` (containers of
a Docker engine). Both derive from `backend.PooledSandbox`, which keeps sandboxes ready in a
`pool.Pool` and makes one for each run.

protocol            Command, Limits, RunResult, End, and the errors: the only module for callers
policy              what code may see, write, reach and use: start here for a security review
backend, pool       the common part of both backends: sessions, ready sandboxes, one run
order, result       the order to a sandbox's agent, and the check of its untrusted answer
proxy               connections of a run that the caller answers
trees               directory trees that runs begin with: their size, and a trial run
isolation_layers    the report of `fettle doctor`: which protections work on this machine
paths, media        which paths a workspace may have; the media type of a file by its bytes
programs            the programs that code finds
agent/              the first code in a sandbox: isolates it, runs and supervises the code, answers
zygote/             processes with loaded libraries, from which sandboxes are forked
seccomp/            the system call filter
local/, docker/     the two backends
"""
