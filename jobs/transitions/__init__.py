"""The commands on a job, as pure functions: (record, command, time) -> Change or Refusal."""
