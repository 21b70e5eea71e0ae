"""The graph's shape against its format: a checkpoint must not change its meaning unnoticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from agents.graph.build import build
from agents.graph.checkpoint_format import READS, WRITES
from agents.parallel.branches import Branch
from agents.state import Feedback, JobFields, State

HERE = Path(__file__).parent


def shape() -> dict[str, Any]:
    """The shape that a checkpoint relies on: nodes, edges, and the fields of stored values."""
    drawn = build(InMemorySaver()).get_graph()
    kinds = (State, JobFields, Feedback, Branch)
    return {
        "nodes": sorted(drawn.nodes),
        "edges": sorted(f"{edge.source} -> {edge.target}" for edge in drawn.edges),
        "fields": {kind.__name__: sorted(kind.__annotations__) for kind in kinds},
    }


def test_the_graph_has_the_shape_of_its_format() -> None:
    """If this fails: raise `checkpoint_format.WRITES`, describe the difference in that module and
    how Fettle reads older checkpoints (or that it does not), and write the new shape down."""
    assert shape() == json.loads((HERE / f"shape-{WRITES}.json").read_text())


def test_this_release_reads_the_format_that_it_writes() -> None:
    assert WRITES in READS
    assert max(READS) == WRITES
