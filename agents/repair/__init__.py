"""Repair: why a run failed, what to try next, and when to stop trying. Decisions only, all pure."""
