"""The graph's nodes. `agents.graph.build` decides which node is next.

questions     the questions before the plan, and the pause for answers
tester        tests that a model writes before the work
planner       the plan
executor      a pass of the executor
branches      parallel steps, and the merge of their files
verification  the acceptance checks, and the verification of the files
review        the pause for a person's decision
edit          a person's edit: files, and a program
critic        the critic's verdict
summarize     the summary for later jobs of the conversation
"""
