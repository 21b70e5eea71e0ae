"""Scaling: many jobs at once, one long job, submissions beside searches and event streams.

model       the model's answers and delays
deployment  a temporary Redis, workers with the recommended settings, the model's HTTP server
flight      many jobs at once, from the first admission to the last end
baseline    the same graph in one process, without persistence
length      one job of many tool calls, and the cost of each
memory      the memory of processes and all their descendants
load        submissions beside searches and event streams, of several releases in turn: `python -m
            benchmarks.scale.load`
side        a deployment that load measures: a running one, or a temporary one of a checkout
readers     readers of event streams
paced       requests at a steady rate, and their answers
figures     ratios of the measurements, and their goals
"""
