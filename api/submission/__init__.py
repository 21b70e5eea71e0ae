"""From a request to a job.

validation  the errors of a request: limits of the operator, fields that exclude each other. Pure
job_spec    the JobSpec of a request, of a retry, of a rebase. Pure
inputs      a request's files, repository and checks, as stored bytes
admission   whether the service accepts a job now
new_jobs    submits, retries and rebases jobs, and submits verifications
decisions   applies a person's decision to a review
"""
