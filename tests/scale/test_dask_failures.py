"""The tree is the same whatever workers are lost, and nothing is left on those that stay."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fasttree import CARTClassifier, Dataset, RandomForestClassifier
from fasttree._scale import fitting
from fasttree._scale.remote import bags, dask_table, held, on_dask, shared, weighed

pytest.importorskip("distributed")
dd = pytest.importorskip("dask.dataframe")
pytestmark = pytest.mark.skipif(os.name != "posix", reason="no such signal")

N = 2000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    import dask.config
    from distributed import LocalCluster

    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"}),  # a restart may take long on a busy machine
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),  # so that they start sooner
        dask.config.set({"distributed.worker.profile.enabled": False}),  # reads frames that run, unsafe without the lock
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
    ):
        yield cluster


killed: set[int] = set()


def wait_for_two(client: Any) -> None:
    """Wait until two workers are there, and none that is killed is still listed."""
    for _ in range(300):
        client.wait_for_workers(2, timeout=60)
        found = client.run(os.getpid, on_error="ignore")
        if len(found) == 2 and not killed & set(found.values()):
            return
        time.sleep(0.1)
    raise TimeoutError("the workers have not been restarted")


@pytest.fixture
def client(cluster: Any) -> Iterator[Any]:
    from distributed import Client

    with Client(cluster) as client:
        wait_for_two(client)
        yield client


@pytest.fixture(autouse=True)
def small_subtrees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "rows_in_memory", lambda *given: 400)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "y": (X.sum(axis=1) + rng.normal(size=N) > 0).astype(int)})


MODEL = CARTClassifier(min_samples_leaf=20)


@pytest.fixture(scope="module")
def expected(table: pd.DataFrame) -> str:
    return MODEL.fit(table[["a", "b", "c"]], table["y"]).to_json()


def frame_of(table: pd.DataFrame) -> Any:
    """Four partitions, which are made anew as often as needed."""
    return dd.from_map(lambda i: table.iloc[i * N // 4 : (i + 1) * N // 4], range(4), meta=table.iloc[:0])


def fitted(table: pd.DataFrame, client: Any) -> str:
    with Dataset.from_dask(frame_of(table), "y", client=client) as data:
        return MODEL.fit(data).to_json()


def kill(client: Any, n_workers: int) -> None:
    for process in list(client.run(os.getpid).values())[:n_workers]:
        killed.add(process)
        os.kill(process, signal.SIGKILL)


def at_stage(monkeypatch: pytest.MonkeyPatch, stage: str, act: Callable[[], None]) -> list[str]:
    """Let something happen once, when the tasks of a stage are submitted and before their results are there."""
    stages: list[str] = []
    done: list[str] = []
    ask, gathered, grown = on_dask.OnDask.ask, on_dask.gathered, on_dask.OnDask._grown

    def asked(self: Any, log: Any, requests: Any) -> Any:
        stages.append("refinement" if requests.divide else "count")
        reply = ask(self, log, requests)
        stages.append("between")
        return reply

    def grew(self: Any, *given: Any) -> Any:
        stages.append("subtree" if "exchange" in stages else "exchange")
        return grown(self, *given)

    def waited(client: Any, futures: Any) -> Any:
        if not done and (stages[-1] if stages else "preparation") == stage:
            done.append(stage)
            act()
        return gathered(client, futures)

    monkeypatch.setattr(on_dask.OnDask, "ask", asked)
    monkeypatch.setattr(on_dask.OnDask, "_grown", grew)
    for module in (on_dask, dask_table):
        monkeypatch.setattr(module, "gathered", waited)
    for module in (bags, shared, weighed):
        monkeypatch.setattr(module, "gathered", lambda *given: (stages.append("forest"), waited(*given))[1])
    return done


@pytest.mark.parametrize("stage", ["preparation", "count", "refinement", "exchange", "subtree"])
def test_a_killed_worker_changes_nothing(client, table, expected, monkeypatch, stage):
    done = at_stage(monkeypatch, stage, lambda: kill(client, 1))
    assert fitted(table, client) == expected
    assert done


WAYS = pytest.mark.parametrize(
    ("room", "class_weight"),
    [(N, None), (N - 1, None), (500, None), (500, "balanced_subsample")],
    ids=["the table fits", "a bag fits", "trees share rounds", "trees grow one by one"],
)


@WAYS
def test_a_worker_killed_while_a_forest_grows_changes_nothing(client, table, monkeypatch, room, class_weight):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: room)
    forest = RandomForestClassifier(n_estimators=6, class_weight=class_weight, random_state=0)
    expected = forest.fit(table[["a", "b", "c"]], table["y"]).to_json()
    done = at_stage(monkeypatch, "forest", lambda: kill(client, 1))
    with Dataset.from_dask(frame_of(table), "y", client=client) as data:
        assert forest.fit(data).to_json() == expected
    assert done


def test_all_workers_killed_change_nothing(client, table, expected, monkeypatch):
    done = at_stage(monkeypatch, "refinement", lambda: kill(client, 2))
    assert fitted(table, client) == expected
    assert done


def test_a_worker_that_is_added_changes_nothing(cluster, client, table, expected, monkeypatch):
    done = at_stage(monkeypatch, "count", lambda: (cluster.scale(3), client.wait_for_workers(3, timeout=60)))
    assert fitted(table, client) == expected
    assert done
    cluster.scale(2)


def test_two_fits_at_once(client, table, expected):
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.append(fitted(table, client))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert found == [expected, expected]


def eventually_nothing_is_kept(client: Any) -> bool:
    for _ in range(100):
        if not np.any(list(client.run(held.kept).values())) and not client.run_on_scheduler(
            lambda dask_scheduler: dask_scheduler.tasks
        ):
            return True
        time.sleep(0.1)
    return False


def test_nothing_is_left_on_the_workers(client, table):
    with Dataset.from_dask(frame_of(table), "y", client=client) as data:
        MODEL.fit(data)
        shards, fits = np.sum(list(client.run(held.kept).values()), axis=0)
        assert shards >= 2  # Dask may copy one
        assert fits == 0
    assert eventually_nothing_is_kept(client)


@WAYS
def test_a_forest_leaves_nothing_on_the_workers(client, table, monkeypatch, room, class_weight):
    monkeypatch.setattr(dask_table, "rows_in_memory", lambda *given: room)
    with Dataset.from_dask(frame_of(table), "y", client=client) as data:
        RandomForestClassifier(n_estimators=5, class_weight=class_weight, random_state=0).fit(data)
        assert np.sum(list(client.run(held.kept).values()), axis=0)[1] == 0  # the shards keep nothing of the fit
    assert eventually_nothing_is_kept(client)


def test_a_closed_client_ends_the_fit(cluster, client, table, monkeypatch):
    from distributed import Client

    other = Client(cluster, set_as_default=False)
    done = at_stage(monkeypatch, "count", other.close)
    with pytest.raises(RuntimeError, match="the Dask client or its scheduler is gone, and the fit with it"):
        fitted(table, other)
    assert done
    assert eventually_nothing_is_kept(client)
    with pytest.raises(RuntimeError, match="the Dask client or its scheduler is gone, and the fit with it"):
        fitted(table, other)  # closed before the fit


def test_an_asynchronous_client_is_refused(table):
    class Asynchronous:
        asynchronous, status = True, "running"

    with pytest.raises(ValueError, match=r"the Dask client is asynchronous.*make one without asynchronous=True"):
        fitted(table, Asynchronous())


def test_a_task_that_loses_its_worker_too_often():
    from distributed import KilledWorker

    class Killed:
        def gather(self, futures: Any) -> Any:
            raise KilledWorker("task", None, 4)

    with pytest.raises(RuntimeError, match=r"a worker that held rows was killed too often.*more shards by n_shards="):
        on_dask.gathered(Killed(), [])


def test_there_must_be_a_client(table, monkeypatch):
    import distributed

    def default_client() -> Any:
        raise ValueError("No clients found")

    monkeypatch.setattr(distributed, "default_client", default_client)
    with pytest.raises(ValueError, match="there is no Dask client: make one"):
        CARTClassifier().fit(frame_of(table)[["a"]], frame_of(table)["y"])
