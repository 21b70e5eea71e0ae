"""Whether a job can run, by GET /system; if no service answers, by checks of this machine."""
