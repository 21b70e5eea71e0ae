"""Evidence by experiment: what shows that the files of a job work (docs/decisions/0041).

sources          which files are programs, and versions of them that cannot load
experiment       which files to replace, so that a verification has to fail
declared         which command verifies the work
verification     the run that a verdict rests on, and the experiments on it
record           the record of a verification
verdict          the critic's verdict, as far as the verification supports it
best_revision    the best of a job's revisions
revision_policy  whether another revision is made, and by which model
"""
