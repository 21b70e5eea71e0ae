"""`python -m api`: the front. It imports no library before its environment is clean (ADR 62)."""

from settings.starting.environment import launch

if __name__ == "__main__":
    launch("api.main")
