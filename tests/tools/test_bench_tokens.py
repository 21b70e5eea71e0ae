"""The benchmark of tokens, small: through the graph, a provider's client and a real sandbox."""

from __future__ import annotations

import json

from click.testing import CliRunner

from benchmarks.tokens.__main__ import GOALS, main


def test_a_long_history_is_sent_in_part() -> None:
    done = CliRunner().invoke(main, ["--json", "--calls", "3", "--calls", "9"])
    assert done.exit_code == 0, done.output
    keys = json.loads(done.stdout.splitlines()[-1])
    assert keys["ratio_3"] == 1.0
    assert keys["tokens_3"] == keys["tokens_untrimmed_3"]
    assert 0.4 < keys["ratio_9"] < 0.95
    assert keys["cached_9"] > 0.6


def test_every_request_repeats_little() -> None:
    done = CliRunner().invoke(main, ["--json", "--calls", "1"])
    assert done.exit_code == 0, done.output
    assert 900 < json.loads(done.stdout.splitlines()[-1])["overhead"] <= GOALS["overhead"] == 1_300
