"""A deployment on this machine: its programs are started, watched, restarted and stopped."""
