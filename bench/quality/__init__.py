"""How good an agent is: exercises worked on as jobs, judged by tests that the model never sees.

exercise     one exercise: what is told, the hidden tests, solutions to try the tests with
sets         reading a set of them: HumanEval, MBPP, our own, a file of the user's
one_program  the published sets' tests: one program in the solution's namespace, as their papers do
candidate    what of a job is judged: its first attempt, and what it ended with (pure)
verification the hidden tests, as verification jobs of the service
working      one exercise through the service, from its submission to its result
running      all of a set, some at a time, each result written down at once
canonical    the shipped solutions through the same judge, without a model
results      the file of results: written line by line, gone on with after a crash
numbers      rates, intervals, tests of a difference (pure)
summing      a file of results, summed up (pure)
comparing    two files of results, exercise by exercise (pure)
plots        pictures of both
judging      a score by a model, for exercises without tests (a process of its own)
designed     a model server whose pass rates are known, to check the harness itself
"""
