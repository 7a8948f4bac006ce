"""What a tree of a large table would take on a large cluster, projected from what `python -m bench dask` has measured here.

**A projection, not a measurement.**  Nothing overlaps in it, and all parts of the table are of one size.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fasttree._scale.remote.tasks import FAN_IN, fan_in

Row = dict[str, Any]

THREADS = 4  # of a worker
EFFICIENCY = 0.7  # of a thread beside three others
NETWORK = 1.25e9  # bytes a second of each machine
SUBTREE_ROWS = 4_000_000  # of the largest node that a worker grows alone
PARTITION_ROWS = 1_000_000
LEAF_ROWS = 100  # about, of a leaf of the tree without limits of depth
VALUE_BYTES, CODE_BYTES, OTHER_BYTES = 4, 1, 10  # of a row: of each of 28 values, and of its target and its place
FEATURES = 28
SIZES = (10**8, 10**9, 10**10)
WORKERS = (10, 100)
DEPTHS = {"depth 8": 8, "depth 12": 12, "deep": None}


class Costs(NamedTuple):
    """What was measured; seconds are of processor time.

    Parameters
    ----------
    partition, prepare : float
        Seconds a partition and a row, with reading.
    turn : float
        Seconds a shard and round, however few rows it has.
    level : float
        Seconds a row and level, in rounds.
    below : float
        Seconds a row and level, in a subtree, whose rows are brought together first.
    driver, split : float
        Seconds a round and a split, on the client.
    task : float
        Seconds a task, on the scheduler.
    reply : float
        Bytes a split.
    rounds : float
        Rounds a level, of a table of `rows` rows.
    rows : int
    """

    partition: float
    prepare: float
    turn: float
    level: float
    below: float
    driver: float
    split: float
    task: float
    reply: float
    rounds: float
    rows: int


def costs_of(lines: Sequence[Row]) -> Costs:
    """Return what each step costs in the measured fits; two fits show what is fixed, and what grows."""
    by_shards = sorted((line for line in lines if "preparation" in line and not line["direct"]), key=lambda line: line["shards"])
    few, some, many = by_shards
    deep = next(line for line in lines if "deep" in line)
    more = many["in rounds"]["workers"] / many["rounds"] - few["in rounds"]["workers"] / few["rounds"]
    turn = more / (many["shards"] - few["shards"])
    partition = (many["preparation"]["workers"] - some["preparation"]["workers"]) / (many["shards"] - some["shards"])
    fits = [[line["rounds"], line["splits"]] for line in (few, deep)]
    driver, split = np.linalg.solve(fits, [line["in rounds"]["driver"] for line in (few, deep)])
    return Costs(
        partition=partition,
        prepare=(some["preparation"]["workers"] - some["shards"] * partition) / some["rows"],
        turn=turn,
        level=(few["in rounds"]["workers"] - turn * few["shards"] * few["rounds"]) / few["row levels"],
        below=deep["subtrees"]["workers"] / deep["levels below"],
        driver=float(driver),
        split=float(split),
        task=many["in rounds"]["scheduler"] / many["in rounds"]["tasks"],
        reply=few["reply"] / few["splits"],
        rounds=few["rounds"] / math.ceil(few["row levels"] / few["rows"]),
        rows=few["rows"],
    )


def tasks_of_round(shards: int, at_once: int = FAN_IN) -> int:
    """Return the tasks of a round: a reply of each shard, and those that combine `at_once`.  A large message is one more."""
    tasks = shards
    while shards > 1:
        shards = math.ceil(shards / at_once)
        tasks += shards
    return tasks


def transfers_of_round(shards: int, at_once: int) -> int:
    """Return the replies that pass one machine after the other until the client has their sum."""
    transfers = 1
    while shards > 1:
        transfers += min(shards, at_once)
        shards = math.ceil(shards / at_once)
    return transfers


class Projected(NamedTuple):
    """Seconds of the steps, and counts."""

    workers: float
    driver: float
    scheduler: float
    network: float
    rounds: int
    n_bytes: float

    @property
    def seconds(self) -> float:
        """Seconds of all steps, one after the other."""
        return self.workers + self.driver + self.scheduler + self.network


def project(costs: Costs, rows: int, workers: int, depth: int | None) -> Projected:
    """Project a tree of some depth, or one whose leaves have about `LEAF_ROWS` rows."""
    shards = workers * THREADS
    levels = depth or max(math.log2(rows / SUBTREE_ROWS), 1.0)
    below = 0.0 if depth else math.log2(rows / LEAF_ROWS) - levels
    splits = 2.0**levels - 1
    rounds = math.ceil(levels * (costs.rounds + max(math.log(rows / costs.rows, 256), 0.0)))
    growth = rounds / (levels * costs.rounds)  # more rounds look at the rows of undecided parts again, and reply as much more
    replies = costs.reply * splits * growth
    at_once = fan_in(replies / rounds)
    exchanged = 0.0 if depth else rows * (VALUE_BYTES * FEATURES + 1.0)
    seconds = rows * (costs.partition / PARTITION_ROWS + costs.prepare + costs.level * levels * growth + costs.below * below)
    return Projected(
        workers=(seconds + costs.turn * shards * rounds) / (shards * EFFICIENCY),
        driver=costs.driver * rounds + costs.split * splits * growth,
        scheduler=costs.task * tasks_of_round(shards, at_once) * rounds,
        network=replies * transfers_of_round(shards, at_once) / NETWORK + exchanged / (NETWORK * workers),
        rounds=rounds,
        n_bytes=replies * shards + exchanged,
    )


def memory(rows: int) -> float:
    """Return the bytes of the shards."""
    return rows * ((VALUE_BYTES + CODE_BYTES) * FEATURES + OTHER_BYTES)


def size_of(n_bytes: float) -> str:
    return f"{n_bytes / 1e12:.1f} TB" if n_bytes >= 1e12 else f"{n_bytes / 1e9:.0f} GB"


def report(lines: Sequence[Row]) -> None:
    """Print the costs, and a table of projections."""
    costs = costs_of(lines)
    print(f"\nMeasured, {costs.rows:,} rows:")
    print(f"{1e3 * costs.partition:.0f} ms a partition and {1e9 * costs.prepare:.0f} ns a row to prepare;")
    print(f"{1e9 * costs.level:.0f} ns a row and level in rounds, {1e9 * costs.below:.0f} in subtrees;")
    print(f"{1e3 * costs.turn:.1f} ms a shard and round;")
    print(f"{1e3 * costs.driver:.1f} ms of the client a round, {1e3 * costs.split:.1f} a split, of {costs.reply / 1e3:.0f} kB;")
    print(f"{1e3 * costs.task:.1f} ms of the scheduler a task; {costs.rounds:.1f} rounds a level\n")
    print(f"Projected, not measured: {FEATURES} columns, {THREADS} threads a worker. Seconds (rounds; sent by all)\n")
    heads = [f"{workers} workers: {name}" for workers in WORKERS for name in DEPTHS]
    print(f"| rows | {' | '.join(heads)} | shards |\n|---|{'---|' * len(heads)}--:|")
    for rows in SIZES:
        cells = []
        for workers in WORKERS:
            for depth in DEPTHS.values():
                found = project(costs, rows, workers, depth)
                cells.append(f"{found.seconds:,.0f} ({found.rounds}; {size_of(found.n_bytes)})")
        print(f"| 1e{math.log10(rows):.0f} | {' | '.join(cells)} | {size_of(memory(rows))} |")
