"""Jobs, days and recordings in the form in which they are shown: pure projections."""
