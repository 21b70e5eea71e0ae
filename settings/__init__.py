"""Every setting of every process, with its default. No other package reads the environment.

A value comes from the first of these that has it: a flag, the environment (`FETTLE_...`), the file
that `--config` or FETTLE_CONFIG names, the default. A process reads its settings once, at its
start, and passes plain values on.

base          settings that the processes of a deployment share
api, worker   the settings of a process; the other modules at this level have a part of them
reading       the file of settings, and the types of addresses
starting      the start of a process: its environment, its settings, unknown names

See ADR 3.
"""
