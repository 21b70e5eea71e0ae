"""Scaling: many jobs at once, and one long job.

model       the model's answers and delays
deployment  a temporary Redis, workers with the recommended settings, the model's HTTP server
flight      many jobs at once, from the first admission to the last end
baseline    the same graph in one process, without persistence
length      one job with many tool calls, and the cost of each call
memory      the memory of processes and all their descendants
figures     ratios of the measurements, and their goals
"""
