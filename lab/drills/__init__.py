"""Drills: what an operator runs to see that his own deployment holds. Each is a command.

chaos      everything is killed under load, and J1 to J14 are checked (`fettle chaos`)
attacks    the sandbox is attacked from within (`fettle attack`)
restart    everything is killed while jobs wait for a person; no work is lost or done twice
leaks      thousands of runs in a row leave nothing behind
"""
