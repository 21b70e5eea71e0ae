"""What a chaos run breaks, and a reading of what it says of its jobs afterwards."""
