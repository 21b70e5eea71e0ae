"""What a worker does besides its jobs; most of it one worker of the fleet at a time."""
