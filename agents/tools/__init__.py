"""The executor's tools. Each acts on the job's workspace, through the ports."""
