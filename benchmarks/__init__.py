"""What it costs. Benchmarks are commands, `python -m benchmarks.NAME`, and print ratios.

overhead    one job through the service, beside the same graph in a bare loop
sandbox     a fresh sandbox, beside a bare interpreter
scale       many jobs at once, one long job, searches and submissions under load
tokens      what a long job sends
pages       how quick the pages are
repair      whether failures are classified rightly, and repaired
provider    the model server on loopback that they ask, as drills and tests do
"""
