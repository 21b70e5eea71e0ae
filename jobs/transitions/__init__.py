"""What may happen to a job, as pure functions: (record, command, time) -> Change or Refusal."""
