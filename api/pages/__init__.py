"""The web pages at /app, rendered by the API process itself.

router      all of them as one router
views       one file a page: jobs, job, live, new, review, stats, system
format      a job's events, runs, diffs, times and costs as text and markup. Pure
visitor     the signed-in browser: the session's key, its scopes, the check of posts
session     the signed cookie; one-time links (sign_in)
rendering   templates and headers; `static` has scripts, styles and pictures

They use the same operations as the JSON routes, and know nothing of graphs.

Why: docs/decisions/0019-pages-from-the-api.md
"""
