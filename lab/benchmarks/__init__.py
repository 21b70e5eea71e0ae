"""Benchmarks are commands, `python -m lab.benchmarks.NAME`, which print ratios.

overhead    one job through the service, compared with the same graph in one process
sandbox     a fresh sandbox, compared with a bare interpreter
scale       many jobs at once, one long job
tokens      the input tokens of a long job
pages       inbox, list and a long job, compared with another checkout
repair      the classification and repair of failures
"""
