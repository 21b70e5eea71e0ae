"""How quick the pages are: a job with a long story, a list of many jobs.

deployment  Redis and the API; no worker, since the filling plays its part
filling     the jobs that are looked at
looking     a real browser, and the API's own times
"""
