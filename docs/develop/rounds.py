"""Picture of rounds.md: python docs/develop/rounds.py, from the folder of the sources; needs the extra `test`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from matplotlib import pyplot
from matplotlib.axes import Axes

from fasttree import CARTClassifier, Dataset, progress
from fasttree._scale.messages import Reply, Requests
from fasttree._scale.out_of_core import OutOfCore

PICTURE = "docs/develop/rounds.svg"
N_ROWS, N_COLUMNS, DEPTH = 500_000, 12, 8


class Message(NamedTuple):
    """What one round asks, and how large the reply is."""

    counted: int
    searched: int
    n_bytes: int


def batches() -> Iterator[pa.Table]:
    """Yield a table of two classes in four batches."""
    rng = np.random.default_rng(0)
    for _ in range(4):
        x = rng.normal(size=(N_COLUMNS, N_ROWS // 4)).astype(np.float32)
        logit = 1.2 * x[0] * x[1] + np.sin(2 * x[2]) + 0.8 * (x[3] > 0.3) * x[4] + 0.7 * x[5]
        y = rng.random(x.shape[1]) < 1 / (1 + np.exp(-1.5 * logit))
        yield pa.table({f"x{j}": x[j] for j in range(N_COLUMNS)} | {"y": y.astype(np.int8)})


class Watched(OutOfCore):
    """Shards on disk that note what they are asked."""

    messages: list[Message] = []

    def ask(self, log: Sequence[Any], requests: Requests) -> Reply:
        reply = super().ask(log, requests)
        searched = {question.node for question in requests.divide}
        size = sum(array.nbytes for array in vars(reply).values())
        self.messages.append(Message(len(requests.count), len(searched), size))
        return reply


def measured() -> tuple[list[Message], list[int]]:
    """Return the messages of all rounds, and the share that is done after each, in percent."""
    from fasttree._scale import frontier, out_of_core

    out_of_core.OutOfCore = Watched  # type: ignore[misc]
    frontier.ROWS_OF_NODE = 32  # so few rows would be brought into memory otherwise
    shares: list[tuple[int, int]] = []

    def listen(step: str, done: int, _total: int) -> None:
        if step == "large nodes":
            shares.append((len(Watched.messages), done))

    with Dataset.from_batches(batches, "y", memory="64MiB") as data, progress(listen):
        CARTClassifier(max_depth=DEPTH).fit(data)
    after = [max((done for at, done in shares if at <= number), default=0) for number in range(1, len(Watched.messages) + 1)]
    return Watched.messages, after


def draw(top: Axes, bottom: Axes, messages: Sequence[Message], shares: Sequence[int]) -> None:
    rounds = np.arange(1, len(messages) + 1)
    counted, searched = (np.array([getattr(message, name) for message in messages]) for name in ("counted", "searched"))
    top.bar(rounds, counted, color="#3b75af", label="nodes counted")
    top.bar(rounds, searched, bottom=counted, color="#e4a14a", label="nodes whose best bins are divided")
    top.set_ylabel("nodes in a round")
    top.legend(frameon=False, loc="upper left")
    bottom.plot(rounds, shares, color="#333333")
    bottom.set_ylabel("done, %")
    bottom.set_xlabel("round")
    bottom.set_ylim(0, 105)
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    messages, shares = measured()
    figure, (top, bottom) = pyplot.subplots(2, 1, figsize=(7, 4.4), sharex=True, height_ratios=(2, 1), layout="constrained")
    draw(top, bottom, messages, shares)
    figure.savefig(PICTURE, metadata={"Date": None})
    total = sum(message.n_bytes for message in messages)
    print(f"{len(messages)} rounds, {sum(m.counted for m in messages)} histograms, replies of {total / 1e6:.0f} MB in all")


if __name__ == "__main__":
    pyplot.rcParams["svg.hashsalt"] = "fasttree"  # the same file each time
    main()
