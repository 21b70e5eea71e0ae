"""Metrics of one worker process for Prometheus, and the port that serves them with its probes.

figures  the metrics, in a registry of the process's own
store    jobs and money, counted where they are put on record
health   whether this worker lives, and whether it takes jobs
server   the port
"""
