"""What a worker does beside its jobs; of most, one worker of the fleet at a time."""
