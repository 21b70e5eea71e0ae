"""How good an agent is: exercises worked on as jobs, judged by tests that the model never sees.

sources      sets of exercises: HumanEval, MBPP, our own (`exercises`), a file of the user's
run          a measurement: each exercise through the service, its hidden tests, a model as judge
report       the file of results; figures, comparison, tables and pictures of it (pure)

`fettle bench` is its command.
"""
