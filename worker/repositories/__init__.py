"""Repositories that jobs work on: a commit becomes a read-only layer, and changes become a patch.

source       Repositories: from a job's `repo` to a commit, and from a commit to its Base
base         Base: the files of a commit; it reads them, and makes patches and bundles
origins/     where they come from: remote fetches from the operator's hosts through a proxy of this
             process, uploads unpacks the bundle that came with a job
mirrors      bare repositories of ours, one for each address or upload
snapshots    a commit's tree in a mirror, and the layer that is checked out of it
setups/      a repository's dependencies, installed once, as a layer
patches      what a job changed, as a patch and as a bundle; ignored leaves out what git ignores
places       folders that appear whole, and locks on them
garbage      removes those that nobody uses, when they take too much
git          git as a process: bounded, and without configuration of this machine

Git works on our own bare repositories and fresh folders, never in a tree that a job's code has
written. Its child processes hold the locks they work under, so that a lock outlives a worker that
was killed for as long as git goes on.

Why: docs/decisions/0054-git-as-a-process.md
"""
