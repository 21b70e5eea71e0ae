"""Playing a finished job again from its recording, and comparing what comes of it."""
