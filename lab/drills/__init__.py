"""Drills: commands with which operators check that their own deployment keeps its promises.

chaos      everything is killed under load, and J1 to J14 are checked (`fettle chaos`)
attacks    the sandbox is attacked from within (`fettle attack`)
restart    everything is killed while jobs wait for a person; no work is lost or repeated
leaks      thousands of runs in a row leave nothing behind
"""
