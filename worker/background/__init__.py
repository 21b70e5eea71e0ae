"""A worker's work besides its jobs. One worker of the fleet at a time does most of it."""
