"""The critic's request: what the critic reads of a job."""
