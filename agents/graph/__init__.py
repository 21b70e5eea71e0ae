"""The graph of a job.

build              the nodes and the edges between them
job_input          the graph's input
outcome            the result of a finished graph
stored_state       the check of stored values
checkpoint_format  which formats of checkpoints this release writes and reads
memory_ports       the ports in memory, for the trial of a model
trial              the trial of a model
"""
