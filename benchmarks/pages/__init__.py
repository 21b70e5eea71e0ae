"""The speed of the pages: a job with many events, a list of many jobs.

deployment  Redis and the API; no worker: `filling` writes the jobs
filling     the jobs of the pages
looking     a real browser, and the API's own times
"""
