"""What a measurement has found, as figures, tables and pictures. Pure."""
