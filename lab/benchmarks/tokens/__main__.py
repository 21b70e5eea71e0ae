"""`python -m lab.benchmarks.tokens [--json]`: input tokens and price of long jobs, with and without
trimming.

Keys of the JSON line, for jobs of 10, 30 and 100 tool calls with a context of 128,000 tokens:
`tokens_N` and `tokens_untrimmed_N` (input tokens, summed over the job's requests), `cached_N` and
`cached_untrimmed_N` (the part of them that a provider's cache of prefixes would know), and
`price_ratio_N`: the ratio of what both cost where cached input costs a tenth. `critic_N` are the
tokens of the critic's request, and `critic_growth_N` is their ratio to CRITIC_BEFORE. `overhead`
are the tokens that every request of the executor repeats: its instructions and tools, with the
packages of this sandbox.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence

import click

from cli.output import Screen, print_json
from lab.benchmarks.goal import judged
from lab.benchmarks.tokens.counted import Sent
from lab.benchmarks.tokens.job import sent
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings

CALLS = (10, 30, 100)
CONTEXT = 128_000
UNTRIMMED = 100_000_000
"""A context that is too large for any conversation to fill its share."""
GOALS = {"price_ratio_10": 1.0, "price_ratio_30": 1.0, "price_ratio_100": 0.8, "overhead": 1_200}
HEADS = ("CALLS", "WHOLE", "TRIMMED", "OUT OF A CACHE", "PRICE", "GOAL", "", "CRITIC", "GROWTH")
CRITIC_BEFORE = 3_566
"""The tokens of the critic's request in each of these jobs, measured when it had at most five runs,
with 2,000 characters of each output, and no tools.
"""
CACHED_PRICE = 0.1


async def measure(calls: Sequence[int]) -> dict[int, tuple[Sent, Sent]]:
    """Measure, for each number of calls, the tokens with trimming and without trimming."""
    sandbox = LocalSandbox(WorkerSettings().sandbox_python)
    try:
        return {
            count: (
                await sent(sandbox, count, context=CONTEXT),
                await sent(sandbox, count, context=UNTRIMMED),
            )
            for count in calls
        }
    finally:
        await sandbox.close()


def figures(pairs: Mapping[int, tuple[Sent, Sent]]) -> dict[str, float]:
    """The keys for `--json`. Pure."""
    keys: dict[str, float] = {}
    for calls, (service, untrimmed) in pairs.items():
        keys |= {
            f"tokens_{calls}": service.tokens,
            f"tokens_untrimmed_{calls}": untrimmed.tokens,
            f"cached_{calls}": round(service.cached / service.tokens, 3),
            f"cached_untrimmed_{calls}": round(untrimmed.cached / untrimmed.tokens, 3),
            f"price_ratio_{calls}": round(_weighed(service) / _weighed(untrimmed), 3),
            f"critic_{calls}": service.critic,
            f"critic_growth_{calls}": round(service.critic / CRITIC_BEFORE, 2),
            "overhead": service.overhead,
        }
    return keys


def missed(keys: Mapping[str, float]) -> list[str]:
    """The figures that miss their goal. Pure."""
    return [name for name, goal in GOALS.items() if name in keys and keys[name] > goal]


def _weighed(side: Sent) -> float:
    return side.tokens - side.cached * (1 - CACHED_PRICE)


def _row(calls: int, keys: Mapping[str, float]) -> tuple[str, ...]:
    ratio = keys[f"price_ratio_{calls}"]
    return (
        str(calls),
        f"{keys[f'tokens_untrimmed_{calls}']:,.0f}",
        f"{keys[f'tokens_{calls}']:,.0f}",
        f"{keys[f'cached_untrimmed_{calls}']:.0%}, {keys[f'cached_{calls}']:.0%}",
        f"{ratio:.2f}",
        *judged(GOALS.get(f"price_ratio_{calls}"), ratio),
        f"{keys[f'critic_{calls}']:,}",
        f"{keys[f'critic_growth_{calls}']:.1f}",
    )


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--calls", type=click.IntRange(1), multiple=True, default=CALLS, show_default=True)
def main(as_json: bool, calls: tuple[int, ...]) -> None:
    """Run each job twice, and compare the figures with their goals; exit 1 if one is missed."""
    keys = figures(asyncio.run(measure(calls)))
    screen = Screen(stderr=as_json)
    screen.rows(HEADS, [_row(count, keys) for count in calls])
    goal, met = judged(GOALS["overhead"], keys["overhead"])
    screen.text(f"repeated by every request: {keys['overhead']:,} tokens, goal {goal} {met}")
    if as_json:
        print_json(keys)
    sys.exit(1 if missed(keys) else 0)


if __name__ == "__main__":
    main()
