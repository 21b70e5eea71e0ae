"""The environment of a task's tests: pinned packages, the project itself, and the programs that
build them.
"""
