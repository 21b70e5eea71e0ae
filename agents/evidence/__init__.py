"""Evidence by experiment: what shows that the files of a job work.

changes          the files that the job has changed
declared         which command verifies the work
verification     the run that a verdict rests on
experiment       which experiments are made on it
run_experiments  makes them, within their time
conclusions      why a verification is no evidence, and facts that weaken it
record           the record of a verification
verdict          the critic's verdict, as far as the verification supports it
best_revision    the best of a job's revisions
revision_policy  whether another revision is made, and by which model

Why: docs/decisions/0041-evidence-by-experiment.md
     docs/decisions/0079-experiments-that-discriminate.md
"""
