"""What is missing for a job to run: by GET /system, or on this machine where no service answers."""
