"""Engines: every call has a result or a reason, whatever happens to the workers."""

import traceback

import pytest
from distributed import Client

from labelweave._common.engine import Call, JoblibEngine, Lost, LostWorkError, all_results
from labelweave.distributed import connect
from labelweave.distributed.cluster import ClusterLostError, WorkerMismatchError, check_versions
from labelweave.versions import results_depend_on
from tests.distributed import work


def check_engine(engine):
    values = engine.share([1, 2, 3])
    calls = [Call(f"call {number}", work.total, (number, values)) for number in range(5)]
    assert all_results(engine, calls) == [6, 7, 8, 9, 10]
    failing = Call("the third", work.fails, (3,))
    results = dict(engine.run([calls[0], failing, calls[1]]))
    assert (results[0], results[2]) == (6, 7)
    assert results[1] == Lost("the third", "ValueError: 3 is wrong", results[1].traceback)
    assert "work.py" in results[1].traceback
    with pytest.raises(LostWorkError, match="the third: ValueError: 3 is wrong"):
        all_results(engine, [failing])


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_processes_on_this_machine(n_jobs):
    engine = JoblibEngine(n_jobs)
    assert engine.n_workers == n_jobs
    check_engine(engine)


def test_workers_of_a_cluster(engine):
    assert engine.n_workers == 2
    check_engine(engine)


@pytest.mark.slow
def test_a_killed_worker_costs_its_calls_only(own_engine, tmp_path):
    values = own_engine.share([1, 2])
    fatal = Call("once", work.kills_its_worker_once, (str(tmp_path / "killed"), values))
    others = [Call(f"{number}", work.total, (number, values)) for number in range(4)]
    assert all_results(own_engine, [fatal, *others]) == [[1, 2], 3, 4, 5, 6]


@pytest.mark.slow
def test_a_call_that_kills_every_worker_is_reported_by_name(own_engine):
    """Those that waited on the same workers are not to blame."""
    fatal = Call("the fatal one", work.kills_its_worker, ())
    others = [Call(f"{number}", work.total, (number, [1])) for number in range(6)]
    results = dict(own_engine.run([fatal, *others]))
    assert [results[number] for number in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert results[0].name == "the fatal one"
    assert "KilledWorker: all 4 workers that ran it alone died" in results[0].reason


def test_what_may_succeed_elsewhere_is_tried_again(engine, tmp_path):
    call = Call("memory", work.fails_on_this_machine_once, (str(tmp_path / "failed"), 5))
    assert list(engine.run([call])) == [(0, 5)]


@pytest.mark.slow
def test_a_scheduler_that_is_gone_is_named(own_engine):
    cluster = own_engine.client.cluster
    results = own_engine.run([Call("slow", work.total, (1, [1])) for _ in range(3)])
    cluster.sync(cluster.scheduler.close)
    with pytest.raises(ClusterLostError, match=r"the scheduler at tcp://.* is gone"):
        list(results)


@pytest.mark.parametrize("name", ["labelweave", "numpy", "code", "SIMD level"])
def test_a_worker_with_other_versions_is_refused(name):
    ours = results_depend_on()
    check_versions(ours, dict(ours), "tcp://w:1")
    with pytest.raises(WorkerMismatchError, match=f"the worker tcp://w:1 has {name} v0, this"):
        check_versions(ours, ours | {name: "v0"}, "tcp://w:1")


def test_a_worker_that_changed_since_is_refused(engine, monkeypatch):
    monkeypatch.setitem(engine._versions, "numpy", "0.1")
    with pytest.raises(WorkerMismatchError, match=r"has numpy \d.*, this process 0.1"):
        list(engine.run([Call("any", work.total, (1, [1]))]))


@pytest.mark.parametrize(
    ("cluster", "message"),
    [
        ("nowhere", "write local, local:4, the address of a scheduler"),
        ("local:0", "must name a number of workers"),
        ("local:two", "must name a number of workers"),
        ("tcp://host", "write local"),
    ],
)
def test_a_cluster_that_is_none(cluster, message):
    with pytest.raises(ValueError, match=message), connect(cluster):
        pass


def test_tls_without_a_certificate():
    expected = pytest.raises(ConnectionError, match=r"tls://127\.0\.0\.1:9 needs a certificate")
    with expected as failure, connect("tls://127.0.0.1:9"):
        pass
    # A client that is still open would be closed by the garbage collector, maybe at a bad moment.
    frames = [frame for frame, _ in traceback.walk_tb(failure.value.__cause__.__traceback__)]
    clients = [f.f_locals["self"] for f in frames if isinstance(f.f_locals.get("self"), Client)]
    assert clients
    assert all(client.status == "closed" for client in clients)


def test_no_scheduler(monkeypatch):
    monkeypatch.setattr("labelweave.distributed.cluster._PATIENCE", 0.2)
    expected = pytest.raises(ConnectionError, match="no scheduler answers at tcp")
    with expected, connect("tcp://127.0.0.1:9"):
        pass
