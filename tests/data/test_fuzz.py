"""Whatever the bytes, the native parsers answer or raise ValueError: they never crash."""

from __future__ import annotations

import contextlib
import random

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labelweave._core import native
from labelweave.data.arff import read_arff
from labelweave.data.arff_header import parse_header

COLUMNS = {
    "names": ["y", "x", "z", "é"],
    "target": [-1, 0, 1, -2],
    "domain": [0, -1, 1, -1],
    "domains": [(["0", "1"], [0.0, 1.0]), (["5", "a b"], [5.0, 7.0])],
}
# Bytes that mean something to the formats come up often, others now and then.
alphabet = st.one_of(
    st.sampled_from([b"{", b"}", b",", b" ", b"\n", b"'", b"\\", b"?", b"%", b":", b"\t", b"\r"]),
    st.sampled_from([b"0", b"1", b"3", b"-", b"+", b"1e5", b"0.5", b"inf", b"a b", b"@data"]),
    st.binary(min_size=1, max_size=2),
)
soups = st.lists(alphabet, max_size=60).map(b"".join)


def parse_arff(text):
    return native.parse_arff_rows(text=text, offset=0, line=1, source="fuzz", **COLUMNS)


@settings(max_examples=200)
@given(soups)
@example(b"{" * 1000)
@example(b"'" + b"\\" * 99)
@example(b"1,2,5,1\x00")
def test_arff_rows(text):
    with contextlib.suppress(ValueError):
        sparse, n, data, columns, starts, labels = parse_arff(text)
        assert len(labels) == 2 * n
        assert len(data) == (starts[-1] if sparse else 2 * n)
        assert set(np.unique(labels)) <= {0, 1}
        assert np.isfinite(data).all()
        assert not sparse or (len(starts) == n + 1 and set(columns.tolist()) <= {0, 1})


@settings(max_examples=200)
@given(soups, st.sampled_from([b"", b"1 3 2\n", b"2 4 4\n"]))
@example(b"9223372036854775806 2147483646 2147483646\n", b"")
@example(b"99999999999999999999999 1 1\n", b"")
def test_xmc(text, header):
    with contextlib.suppress(ValueError):
        (n, D, L), data, columns, starts, labels, label_starts = native.parse_xmc(
            header + text, "fuzz"
        )
        assert len(starts) == len(label_starts) == n + 1
        assert starts[-1] == len(data) == len(columns)
        assert label_starts[-1] == len(labels)
        assert all(0 <= c < D for c in columns)
        assert all(0 <= label < L for label in labels)
        assert np.isfinite(data).all()


@settings(max_examples=200)
@given(st.lists(st.one_of(st.just(b"@attribute "), alphabet), max_size=40).map(b"".join))
def test_arff_header(text):
    with contextlib.suppress(UnicodeDecodeError, ValueError):
        assert parse_header(text, "fuzz").attributes


def test_damaged_files(tmp_path):
    """A good file with bytes overwritten, dropped or doubled at random places."""
    good = (
        b"@relation 'r: -C 1'\n@attribute y {0,1}\n@attribute x real\n@data\n"
        + b"{0 1,1 2.5}\n" * 4
    )
    rng = random.Random(0)
    path = tmp_path / "damaged.arff"
    outcomes = set()
    for _ in range(400):
        text = bytearray(good)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(text))
            text[at : at + rng.randint(0, 3)] = rng.choice([b"", b"{", b"\n", b"\xff", b"9", b"''"])
        path.write_bytes(bytes(text))
        try:
            outcomes.add(read_arff(path).n_rows > 0)
        except ValueError as error:
            outcomes.add(type(error))
    assert outcomes == {True, ValueError}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"target": [-1, 0, 1]}, "one entry for each of names"),
        ({"target": [-1, 0, 2, -2]}, "target is out of range"),
        ({"target": [-3, 0, 1, -2]}, "target is out of range"),
        ({"domain": [0, -2, 1, -1]}, "domain is out of range"),
        ({"domain": [2, -1, 1, -1]}, "domain is out of range"),
        ({"domains": [([], []), (["1"], [1.0])]}, "one number for each of its words"),
        ({"offset": 99}, "offset is beyond"),
    ],
)
def test_the_binding_proves_what_the_parser_trusts(change, message):
    given_ = {"text": b"1,2,5,1\n", "offset": 0, "line": 1, "source": "s", **COLUMNS} | change
    with pytest.raises(ValueError, match=message):
        native.parse_arff_rows(**given_)
