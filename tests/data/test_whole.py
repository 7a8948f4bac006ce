"""A file is the old one or the new one, never a part: whatever step fails, and whenever the process is killed."""

import errno
import os
import subprocess
import sys

import pytest

import fasttree
from fasttree import CARTClassifier
from fasttree._data.files.whole import whole_file

STEPS = ["open", "write", "flush", "fsync", "replace"]


class FullDisk:
    """A file whose writes or flushes fail as those on a full disk do."""

    def __init__(self, file, step):
        self.file, self.step = file, step

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def fileno(self):
        return self.file.fileno()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        fails(self.step == "write")
        return self.file.write(data[len(data) // 2 :])

    def flush(self):
        fails(self.step == "flush")
        self.file.flush()


def fails(here=True, number=errno.ENOSPC):
    if here:
        raise OSError(number, os.strerror(number))


def make_it_fail(step, number, monkeypatch):
    """Let one step of writing a file fail with an error of the system."""
    if step == "open":
        monkeypatch.setattr("builtins.open", lambda *_, **__: fails(number=number))
    elif step in ("fsync", "replace"):
        monkeypatch.setattr(os, step, lambda *_: fails(number=number))
    else:
        real = open
        monkeypatch.setattr("builtins.open", lambda *words, **more: FullDisk(real(*words, **more), step))


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT])
def test_whatever_step_fails_the_old_file_stays_and_nothing_lies_beside_it(step, number, tmp_path, monkeypatch):
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with monkeypatch.context() as patch:
        make_it_fail(step, number, patch)
        with pytest.raises(OSError, match=r"file'?$") as raised, whole_file(target) as stream:
            stream.write(b"new and longer")
    assert raised.value.filename == str(target)
    assert raised.value.errno == number or step in ("write", "flush")
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"file": b"old"}


@pytest.mark.skipif(os.name != "posix", reason="no such limits")
@pytest.mark.parametrize("name", ["model.json", "model.json.gz"])
def test_a_model_that_finds_no_room_leaves_the_old_one(name, tmp_path):
    """The limit for files of this process stands for a disk that becomes full in the middle."""
    resource = pytest.importorskip("resource")
    small = CARTClassifier().fit([[1.0], [2.0]], ["a", "b"])
    large = CARTClassifier().fit([[float(i)] for i in range(2000)], [str(i % 7) for i in range(2000)])
    small.save(tmp_path / name)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        with pytest.raises(OSError, match="File too large"):
            large.save(tmp_path / name)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert fasttree.load(tmp_path / name).to_json() == small.to_json()


# Each turn forks a process that saves one model after the other, and kills it without a warning; it runs in an interpreter of its
# own, because a process with threads cannot be forked safely.
KILLED = """
import os, random, signal, sys, time
import fasttree
models = [fasttree.CARTClassifier().fit([[float(i)] for i in range(n)], [str(i % 7) for i in range(n)]) for n in (300, 500)]
texts = {model.to_json() for model in models}
path, turns = sys.argv[1], int(sys.argv[2])
start = time.perf_counter()
models[0].save(path)
takes = time.perf_counter() - start
random.seed(0)

def hidden():  # a child that was killed before its file was whole leaves it hidden
    return sum(name.endswith(".tmp") for name in os.listdir(os.path.dirname(path)))

for turn in range(10 * turns):
    if turn >= turns and hidden() > turns // 8:
        break
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        while True:
            for model in reversed(models):
                model.save(path)
                os.write(writing, b".")
    os.read(reading, 1)  # it has saved once
    time.sleep(random.uniform(0.0, 2 * takes))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reading)
    os.close(writing)
    assert fasttree.load(path).to_json() in texts, turn
print(hidden())
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.parametrize("turns", [24, pytest.param(1000, marks=pytest.mark.nightly)])
def test_a_model_whose_saving_is_killed_is_the_old_or_the_new_one(turns, tmp_path):
    program = [sys.executable, "-P", "-c", KILLED, str(tmp_path / "model.json"), str(turns)]
    ended = subprocess.run(program, capture_output=True, text=True, check=False, timeout=600 if turns < 100 else 3600)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > turns // 8  # so many were killed before the new file was whole


READ_ONLY = """
import os, sys, tempfile
import fasttree
model = fasttree.CARTClassifier().fit([[1.0], [2.0]], ["a", "b"])
with tempfile.TemporaryDirectory() as folder:
    os.chmod(folder, 0o777)
    path = os.path.join(folder, "model.json")
    model.save(path)
    os.chmod(folder, 0o555)
    superuser = os.geteuid() == 0
    if superuser:
        os.seteuid(65534)  # nobody: the superuser may write anywhere
    try:
        model.save(path)
    except PermissionError as error:
        assert error.filename == path, error.filename
    else:
        raise AssertionError("a file was written")
    finally:
        if superuser:
            os.seteuid(0)
    os.chmod(folder, 0o755)
    assert os.listdir(folder) == ["model.json"]
    assert fasttree.load(path).to_json() == model.to_json()
"""


@pytest.mark.skipif(os.name != "posix", reason="permissions of Unix")
def test_a_read_only_folder_keeps_the_model_that_it_has():
    ended = subprocess.run([sys.executable, "-P", "-c", READ_ONLY], capture_output=True, text=True, check=False, timeout=100)
    assert ended.returncode == 0, ended.stderr
