"""The pages: what a person sees in a browser, at /app. Rendered here, by the API process itself.

router      all of them as one router
views       one file a page: jobs, job, live, new, review, stats, system
format      a job's events, runs, diffs, times and costs as text and markup. Pure
visitor     who looks: the session's key, its scopes, the check of what is posted
session     the signed cookie; one-time links (sign_in)
rendering   templates and headers; `static` is what needs no rendering

They do what the JSON routes do, by the same operations, and know nothing of graphs.
"""
