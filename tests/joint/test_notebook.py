"""Joint distributions, modes and lists as notebooks show them."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from labelweave.joint import ChainJoint, IndependentJoint, MixtureJoint, Mode
from tests.joint.cases import FORMS, make

NAMES = ("<script>alert(1)</script>", 'a" onclick="x', "&amp;")


class Page(HTMLParser):
    """What a browser reads: texts by tag, and the names of all attributes."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.texts = [], set(), []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes |= {name for name, _ in attributes}

    def handle_data(self, data):
        self.texts.append(data)


def shares(html):
    return [float(value) for value in re.findall(r"<td>([\d.]+)</td>", html)]


def long_chain(n=2, L=30):
    rng = np.random.default_rng(0)
    return ChainJoint(rng.normal(size=(n, L)), np.tril(rng.normal(size=(L, L)) / 5, -1))


def asked(*_):
    raise AssertionError("a notebook's table must not ask classifiers")


def test_names_are_escaped_and_numbers_are_the_marginals():
    joint = IndependentJoint(np.array([[0.0, 2.0, -1.0], [1.0, 0.5, 3.0]]), label_names=NAMES)
    html = joint._repr_html_()
    page = Page(html)
    assert set(NAMES) < set(page.texts)
    assert "script" not in page.tags
    assert "onclick" not in page.attributes
    assert "IndependentJoint: 2 rows, 3 labels" in page.texts
    np.testing.assert_allclose(shares(html), joint.marginals().ravel(), atol=0.005)


def test_few_rows_and_labels_are_shown_and_the_others_counted():
    html = IndependentJoint(np.zeros((50, 40)))._repr_html_()
    assert len(shares(html)) == 5 * 12
    assert "45 rows and 28 labels not shown" in html
    assert "0 rows" in IndependentJoint(np.zeros((1, 2)))[:0]._repr_html_()


def test_what_was_sampled_is_said_and_what_is_costly_is_not_computed():
    assert "estimated from 100 draws" in long_chain()._repr_html_()
    assert "takes a while" in long_chain().condition({29: 1})._repr_html_()
    asks = ChainJoint.of_functions(asked, 2, 3)
    mixture = MixtureJoint(np.ones((2, 1)), [asks])
    for joint in (asks, mixture):
        assert "takes a while" in joint._repr_html_()


def test_modes_and_lists_show_probability_and_proof():
    joint = long_chain(12)
    proven = joint.mode()
    html = proven._repr_html_()
    assert html.count(">proven<") == int(proven.optimal[:10].sum())
    assert f"{np.exp(proven.log_prob[0]):.3g}" in html
    assert "2 rows not shown" in html
    assert ", ".join(map(str, np.flatnonzero(proven.labels[0])[:12])) in html
    open_ = Mode(np.zeros((1, 2), dtype=np.int8), np.array([-1.0]), np.array([-0.5]))
    assert "gap ≤ 0.5 nats" in open_._repr_html_()
    assert "none" in open_._repr_html_()
    top = IndependentJoint(np.array([[2.0, -1.0]])).top(3)
    listed = top._repr_html_()
    assert len(re.findall(r"<td>[\d.]+</td>\s*<td>proven</td>", listed)) == 3
    assert f"{np.exp(top.log_prob[0, 2]):.3g}" in listed


def test_frames_hold_every_row_and_possible_vector():
    joint = long_chain(12)
    mode, top = joint.mode(), joint.top(3)
    np.testing.assert_allclose(mode.to_frame()["probability"], np.exp(mode.log_prob))
    assert (mode.to_frame()["certificate"] == "proven").tolist() == mode.optimal.tolist()
    np.testing.assert_allclose(top.to_frame()["probability"], np.exp(top.log_prob).ravel())
    assert top.to_frame().index.names == ["row", "rank"]
    impossible = IndependentJoint([[np.inf, 0.0]]).top(4)
    assert len(impossible.to_frame()) == 2


@pytest.mark.parametrize("form", FORMS)
def test_every_form_shows_its_marginals_unless_they_are_costly(form):
    joint, _ = make(form, 0, 3, 4)
    html = joint._repr_html_()
    if form == "general":
        assert "takes a while" in html
    else:
        np.testing.assert_allclose(shares(html), joint.marginals().ravel(), atol=0.005)


def test_modes_and_lists_name_the_labels_that_have_names():
    scores = np.array([[2.0, -1.0, 3.0]])
    forms = [
        IndependentJoint(scores, label_names=NAMES),
        ChainJoint(scores, np.zeros((3, 3)), label_names=NAMES),
        IndependentJoint(scores, label_names=NAMES).tempered(2.0),
        MixtureJoint(np.ones((1, 1)), [IndependentJoint(scores)], label_names=NAMES),
    ]
    shown = "&lt;script&gt;alert(1)&lt;/script&gt;, &amp;amp;</td>"
    for joint in forms:
        assert shown in joint.mode()._repr_html_()
        assert shown in joint.mode()[:1]._repr_html_()
        assert shown in joint.top(2)._repr_html_()
    assert "<td>0, 2</td>" in IndependentJoint(scores).top(2)._repr_html_()
