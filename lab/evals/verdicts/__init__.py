"""Recorded jobs with planted faults, and honest jobs, with the expected verdict of the rules on
each.

The executor's side of a job is recorded (`*.yaml`, see `recorded_job`). Files named `planted-*`
have a fault: a weakened test, a swallowed error, a claimed run. Files named `honest-*` are sound
work. `python -m lab.evals.verdicts` plays all of them through the graph, in a sandbox. The critic
approves every job, so that only the rules decide. With `--critic provider:model`, this model
judges.
"""
