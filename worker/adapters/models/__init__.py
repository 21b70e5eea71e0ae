"""Knowledge of providers that all workers share: their pace, and what their servers accept."""
