"""The critic's request and its tools.

request   the request: all parts in the order of their ranks, fitted into the critic's budget
sections  a part of the request
files     files: the change as patches and data, and files that the work reads
runs      runs: which runs, and how much of each
outside   the pages and answers of servers that the executor has read
verified  the sentences about a verification
loop      the conversation: calls of tools, then the verdict
tools     the tools, among them `run_again`
"""
