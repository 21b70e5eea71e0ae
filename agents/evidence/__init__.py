"""Evidence by experiment: what shows that the files of a job work.

changes          the files that the job has changed
declared         the command that verifies the work
verification     the run that a verdict rests on
exercised_files  the files that it has to exercise
experiments      the experiments on it, within their time
changed_code     the functions that the job changed, and mutations of them
conclusions      why a verification is no evidence, and facts that weaken it
record           the record of a verification
verdict          the critic's verdict, as far as the verification supports it
revisions        whether another revision is made and by which model, and the best revision

See ADR 41 and ADR 79.
"""
