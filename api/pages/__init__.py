"""The web pages at /app, rendered by the API process itself.

router      all of them as one router
views       the pages of jobs and of the deployment
format      a job, its patch, code and untrusted texts as markup. Pure
visitor     the signed-in browser: the session's key, its scopes, the check of posts
session     the signed cookie; one-time links (sign_in)
rendering   templates and headers; `static` has scripts, styles and pictures

They use the operations of the JSON routes.

See ADR 19.
"""
