"""Repositories that jobs work on: a commit becomes a read-only layer, and changes become a patch.

source       Repositories: from a job's `repo` to a commit, and from a commit to its CommitBase
base         CommitBase: the files of a commit; it reads them, and makes patches and bundles
remote       fetches from the operator's hosts through a proxy of this process, and pushes to them
upload       unpacks the bundle that came with a job
hosts        the operator's hosts, with their credentials; ssh starts OpenSSH's client for them
refs         names of branches, tags and commits; the tags and the history of a mirror
mirrors      bare repositories of the worker, one for each address or upload
snapshots    the tree of a commit in a mirror, and the layer that is checked out from it
submodules   the commits of other repositories that a commit names, and their addresses
patches      the changes of a job, as a patch and as a bundle
merges       a change merged onto another commit; rebase is such a job
setups/      the dependencies of a repository, installed once, as a layer
folders      the folders of mirrors and layers, their locks, and the removal of old folders
git          git as a process: bounded, and without configuration of this machine

Git works on bare repositories of the worker and on new folders, never in a tree that a job's code
has written. Its child processes hold the locks that they work under: if a worker is killed, its
locks last as long as its git processes.

See ADR 54.
"""
