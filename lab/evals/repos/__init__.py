"""Tasks on repositories: a bug report, a repository, and tests that the job never sees.

task        a task, as a folder has it; own and swebench make such tasks from other sources
canonical   the shipped fix, and no fix, by the same verification
verifying   asks the verifier, a separate process (`python -m lab.evals.repos.verifier`), which
            makes the `trees` and the `environment` of a task, and runs pytest in the sandbox
            (`inside`)
environment the layer of `packages` (`sources`: without a wheel) and the `project`, by their build
            `backends`

docs/benchmarks.md, "Tasks on repositories", has the format.
"""
