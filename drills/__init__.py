"""Drills: what an operator runs to see that his own deployment holds. Each is a command.

restart    everything is killed while jobs wait for a person; nothing is lost, nothing done twice
"""
