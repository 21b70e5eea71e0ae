"""Playing a finished job again from its recording, and comparing both results."""
