"""The benchmark of tokens, small: through the graph, a provider's client and a real sandbox."""

from __future__ import annotations

import json

from click.testing import CliRunner

from lab.benchmarks.tokens.__main__ import GOALS, main


def test_a_conversation_that_fits_costs_no_more_than_without_trimming() -> None:
    done = CliRunner().invoke(main, ["--json", "--calls", "3", "--calls", "9"])
    assert done.exit_code == 0, done.output
    keys = json.loads(done.stdout.splitlines()[-1])
    assert (keys["price_ratio_3"], keys["price_ratio_9"]) == (1.0, 1.0)
    assert keys["tokens_9"] == keys["tokens_untrimmed_9"]
    assert keys["cached_9"] > 0.8


def test_a_job_of_a_hundred_calls_costs_less_than_without_trimming() -> None:
    done = CliRunner().invoke(main, ["--json", "--calls", "100"])
    assert done.exit_code == 0, done.output
    keys = json.loads(done.stdout.splitlines()[-1])
    assert keys["price_ratio_100"] <= GOALS["price_ratio_100"] == 0.8
    assert keys["cached_100"] > 0.9


def test_every_request_repeats_few_tokens() -> None:
    done = CliRunner().invoke(main, ["--json", "--calls", "1"])
    assert done.exit_code == 0, done.output
    assert 900 < json.loads(done.stdout.splitlines()[-1])["overhead"] <= GOALS["overhead"] == 1_200
