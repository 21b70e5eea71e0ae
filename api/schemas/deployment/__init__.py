"""Answers about the deployment as a whole: models, statistics, the system."""
