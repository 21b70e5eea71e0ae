"""Evidence by experiment: what shows that the files of a job work (docs/decisions/0041).

sources          which files are programs, and what one looks like that cannot load
experiment       which of them to replace, so that a verification has to fail
verification     the run that a verdict rests on, and the experiments on it
verdict          the critic's judgement, as far as the verification supports it
best             the best of a job's revisions
revision_policy  whether another revision is made, and by which model
"""
