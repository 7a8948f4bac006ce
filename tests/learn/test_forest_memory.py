"""Memory of the growth of forests, beyond the table and the fitted trees."""

import subprocess
import sys

import pytest

N, D, THREADS = 250_000, 28, 2

SCRIPT = f"""
import sys
import threading
import numpy as np
from fasttree import RandomForestRegressor

def anonymous():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("RssAnon"))

rng = np.random.default_rng(0)
X = np.empty(({N}, {D}), np.float32)
for j in range({D}):
    X[:, j] = rng.permutation({N})
y = X[:, 0] - X[:, 1] + rng.normal(scale={N}, size={N})
RandomForestRegressor(n_estimators=2, n_jobs={THREADS}).fit(X[:1000], y[:1000])  # loads modules, which do not count
before, peak, done = anonymous(), 0, threading.Event()

def watch():
    global peak
    while not done.wait(0.005):
        peak = max(peak, anonymous())

watcher = threading.Thread(target=watch)
watcher.start()
forest = RandomForestRegressor(n_estimators=int(sys.argv[1]), max_features=4, random_state=0, n_jobs={THREADS}).fit(X, y)
done.set()
watcher.join()
packed = forest.ensemble_.packed
print(peak - before - sum(array.nbytes for array in packed))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("n_trees", [4, 3])  # the last one of three grows in both threads
def test_growth_gives_back_what_it_no_longer_needs(n_trees: int) -> None:
    """Six bytes a value, and 8 MB for each tree in flight, where 25 MB are allowed for tables of any size.

    What a thread has of nodes, and of values, ends within a page of 2 MB.

    glibc's malloc would keep the encoding, and what earlier trees took.
    """
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(n_trees)], check=True, capture_output=True, text=True)
    assert int(done.stdout) <= 6 * N * D + (8_000_000 + 2 * 2_097_152) * THREADS
