"""The pages: what a person sees in a browser, at /app. Rendered here, by the API process itself.

router      all of them as one router
jobs, job, new, numbers, system, sign_in     one file a page
visitor     who looks: the session's key, its scopes, the check of what is posted
session     the signed cookie; one-time links
drawing     templates and headers; `static` what is not rendered
words       numbers, times and money as text

They do what the JSON routes do, by the same operations, and know nothing of graphs.
"""
