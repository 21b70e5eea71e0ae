"""Chaos: jobs under load while everything is killed; a log and a checker decide whether every rule
held.
"""
