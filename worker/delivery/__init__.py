"""Delivery: an approved change becomes a branch of the repository that it was fetched from, and a
pull request of its forge, exactly once even over crashes.

`push` checks that a change may be delivered, pushes it and opens the pull request; `forges` has the
APIs of GitHub and GitLab, `forge_api` sends their requests, and `texts` writes the text of pull
requests.

See ADR 57.
"""
