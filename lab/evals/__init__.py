"""Evaluation of the agent: exercises as jobs, judged by tests that the model never sees.

sources      sets of exercises: HumanEval, MBPP, Fettle's own (`exercises`), a user's file
run          a measurement: each exercise as a job, its hidden tests, a model as judge
laboratory   benchmarks as jobs of a service: the entry point of the worker and the API
report       the file of results; statistics, comparison, tables and plots of it (pure)

`fettle bench` is its command.
"""
