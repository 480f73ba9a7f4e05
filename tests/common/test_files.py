"""Files are the one before or the new one, whatever happens on the way."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from labelweave._common.files import LockedError, locked, remove, replacing, require_writable
from labelweave._common.keyed_lines import KeyedLines


class Steps:
    """What happens to files, in order: names that were forced to the disk, renamed or deleted."""

    def __init__(self, monkeypatch):
        self.taken = []
        for name in ("fsync", "replace", "unlink"):
            monkeypatch.setattr(os, name, self.recorder(name, getattr(os, name)))
        monkeypatch.setattr(Path, "replace", lambda path, target: os.replace(path, target))
        monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: os.unlink(path))

    def recorder(self, name, function):
        def record(subject, *rest, **options):
            path = os.readlink(f"/proc/self/fd/{subject}") if isinstance(subject, int) else subject
            self.taken.append((name, Path(path).name))
            return function(subject, *rest, **options)

        return record


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_the_name_of_a_new_file_of_results_reaches_the_disk(tmp_path, monkeypatch):
    steps = Steps(monkeypatch)
    with KeyedLines(tmp_path / "lines", dict, dict).writing() as append:
        append("key", {"value": 1})
    assert steps.taken[:2] == [("fsync", tmp_path.name), ("fsync", "lines")]


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="needs /proc")
def test_content_and_names_reach_the_disk_in_order(tmp_path, monkeypatch):
    steps = Steps(monkeypatch)
    with replacing(tmp_path / "model") as file:
        file.write(b"new")
        assert steps.taken == []
    remove(tmp_path / "model")
    folder = ("fsync", tmp_path.name)
    written = [("fsync", "model.part"), ("replace", "model.part"), folder]
    assert steps.taken == [*written, ("unlink", "model"), folder]


@pytest.mark.parametrize("before", [None, b"old"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "no space"), KeyboardInterrupt()])
def test_a_failure_leaves_what_was_there(tmp_path, before, error):
    path = tmp_path / "model"
    if before:
        path.write_bytes(before)
    with pytest.raises(type(error)), replacing(path) as file:  # noqa: PT012
        file.write(b"half of")
        raise error
    assert [each.read_bytes() for each in tmp_path.iterdir()] == ([before] if before else [])


def test_what_a_kill_left_behind_does_not_matter(tmp_path):
    (tmp_path / "model.part").write_bytes(b"much longer than what comes now")
    with replacing(tmp_path / "model") as file:
        file.write(b"new")
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"model": b"new"}


def test_links_and_permissions(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "model")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "model").read_bytes() == b"new"
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "model").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_writers_of_one_file_take_turns(tmp_path):
    path = tmp_path / "model"

    def write(letter):
        with replacing(path) as file:
            for _ in range(200):
                file.write(letter * 1000)
                file.flush()

    writers = [threading.Thread(target=write, args=(bytes([65 + i]),)) for i in range(8)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    content = path.read_bytes()
    assert content == content[:1] * 200_000
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


def test_devices_are_written_directly():
    require_writable(Path(os.devnull))
    with replacing(os.devnull) as file:
        file.write(b"nothing is kept")
    assert not Path(os.devnull).is_file()


def test_places_that_cannot_be_written_to(tmp_path, monkeypatch):
    require_writable(tmp_path / "model")
    with pytest.raises(IsADirectoryError, match="is a folder; name a file"):
        require_writable(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist; make it"):
        require_writable(tmp_path / "missing" / "model")
    # The administrator may write anywhere: the system's answer is all there is to be tested.
    monkeypatch.setattr("os.access", lambda path, _: Path(path) != tmp_path)
    with pytest.raises(PermissionError, match="cannot be written to"):
        require_writable(tmp_path / "model")


HOLDER = """
import sys, pathlib
from labelweave._common.files import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_lock_is_held_by_one_process_and_ends_with_it(tmp_path):
    path = tmp_path / "model.lock"
    words = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(LockedError), locked(path):
            pass
        other.kill()
        other.wait()
    assert path.exists()  # as a killed process leaves it
    with locked(path):
        pass
    assert not path.exists()


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    monkeypatch.setattr("fcntl.flock", no_locks)
    with locked(tmp_path / "lock"), replacing(tmp_path / "model") as file:
        file.write(b"new")
    assert (tmp_path / "model").read_bytes() == b"new"
