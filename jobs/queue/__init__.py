"""Which job runs next: hints over Celery, turns among tenants, limits on how many jobs wait."""
