"""The laboratory: programs that measure, test and attack Fettle. The distribution `fettle-lab`.

commands     `fettle bench`, `fettle chaos`, `fettle attack`: entry points of `fettle-lab`
drills       programs that an operator runs against a deployment: chaos, attacks, restarts, leaks
evals        the quality of the agent, on exercises and repositories with hidden tests
benchmarks   the costs of the service, as ratios
provider     a scripted model server on loopback, for all of them and for the tests
browser      Chromium without a network, for the tests of the pages and for screenshots

The laboratory imports the product; no package of the product imports the laboratory
(ADR 90).
"""
