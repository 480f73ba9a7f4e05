"""The explorer as people use it: a real browser clicks through every view."""

import json
from functools import cache
from urllib.parse import urlsplit

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from labelweave import ClassifierChain, TreeMixture, load
from labelweave.evaluation import chow_liu
from labelweave.explore.server import serving
from labelweave.explore.session import Session
from labelweave.explore.views import why
from tests.evaluation.make import comparison
from tests.explore.make import NASTY, emotions_session
from tests.report.test_tables import FIGURES

pytestmark = pytest.mark.browser
IDLE = "document.body.dataset.idle === 'true'"


@pytest.fixture(scope="module")
def emotions():
    session = emotions_session()
    session.compute()
    with serving(session, comparison=comparison(FIGURES, name="emotions")) as link:
        yield session, link


def many_labels_session():
    """Return a session over rows of which most have more labels than fit on a phone."""
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(30, 4)), random.integers(0, 2, size=(30, 10))
    session = Session(
        ClassifierChain(C=1.0, label_penalty=1.0).fit(X, Y),
        X,
        Y,
        label_names=[f"label {j}" for j in range(10)],
    )
    session.compute()
    return session


@cache
def enron_session():
    data = load("enron")
    model = TreeMixture(n_components=2, C=0.1, label_penalty=0.1).fit(data.X, data.Y)
    session = Session(model, data.X, data.Y, label_names=data.label_names, name="enron")
    session.compute()
    return session


@pytest.fixture
def enron(shared_data):  # where `load` finds it
    session = enron_session()
    with serving(session) as link:
        yield session, link


class Page:
    """The page in the browser, and what it shows."""

    def __init__(self, browser, link, view, **window):
        self.browser, self.origin = browser, "{0.scheme}://{0.netloc}/".format(urlsplit(link))
        browser.open(f"{link}#/{view}", **({"width": 1280} | window))
        self.settle()

    def settle(self):
        self.browser.wait_for(IDLE + " && document.querySelector('[data-view]') !== null")
        self.browser.wait_for_paint()

    def click(self, selector):
        self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).click()")
        self.settle()

    def data(self, selector, name):
        return self.browser.evaluate(
            f"document.querySelector({json.dumps(selector)})?.dataset[{json.dumps(name)}]"
        )

    def marginals(self):
        found = self.browser.evaluate(
            "[...document.querySelectorAll('li[data-label]')]"
            ".map(item => [item.dataset.label, item.dataset.p])"
        )
        return [float(p) for _, p in sorted((int(label), p) for label, p in found)]

    def text(self):
        return self.browser.evaluate("document.body.innerText")

    def check(self):
        """No complaint in the console, and nothing asked of anybody else."""
        assert self.browser.problems == []
        assert all(request.startswith(self.origin) for request in self.browser.requests)


def set_label(page, label, value):
    page.click(f'li[data-label="{label}"] [data-value="{value}"]')


def assert_shows(page, session, row, fixed):
    joint = session.joint_of([row])
    given = joint.condition(fixed) if fixed else joint
    np.testing.assert_allclose(page.marginals(), given.marginals()[0], atol=1e-9)
    mode, top = given.mode(), given.top(8)
    assert float(page.data("#mode", "p")) == pytest.approx(np.exp(mode.log_prob[0]))
    assert page.data("#mode", "optimal") == "true"
    shown = page.browser.evaluate(
        "[...document.querySelectorAll('#top-sets li')].map(e => Number(e.dataset.p))"
    )
    assert shown == pytest.approx(np.exp(top.log_prob[0][np.isfinite(top.log_prob[0])]))
    evidence = np.exp(joint.evidence_log_prob(fixed).value[0]) if fixed else 1.0
    assert float(page.data("#evidence-probability", "p")) == pytest.approx(evidence)


@pytest.mark.parametrize("name", ["emotions", pytest.param("enron", marks=pytest.mark.slow)])
def test_fixed_labels_are_answered_by_the_conditional_distribution(browser, request, name):
    session, link = request.getfixturevalue(name)
    page = Page(browser, link, "ask/7")
    assert_shows(page, session, 7, {})
    set_label(page, 2, "present")
    assert_shows(page, session, 7, {2: 1})
    set_label(page, 4, "absent")
    assert_shows(page, session, 7, {2: 1, 4: 0})
    link_to_it = page.browser.evaluate("location.hash")
    set_label(page, 2, "unknown")
    assert_shows(page, session, 7, {4: 0})
    page.browser.evaluate("history.back()")
    page.browser.wait_for(f"location.hash === {json.dumps(link_to_it)}")
    page.settle()
    assert_shows(page, session, 7, {2: 1, 4: 0})
    page.check()
    shared = Page(browser, link, link_to_it.removeprefix("#/"))
    assert_shows(shared, session, 7, {2: 1, 4: 0})
    shared.check()


@pytest.mark.parametrize("name", ["emotions", pytest.param("enron", marks=pytest.mark.slow)])
@pytest.mark.parametrize("view", ["rows", "ask/3", "labels", "labels/2", "model"])
@pytest.mark.parametrize("width", [380, 1280])
def test_every_view(browser, request, name, view, width):
    _, link = request.getfixturevalue(name)
    page = Page(browser, link, view, width=width, dark=width == 380)
    assert browser.evaluate("document.scrollingElement.scrollWidth") <= width
    assert len(page.text()) > 100
    page.check()


def test_why_says_which_probability_is_conditional_and_which_marginal(browser, emotions):
    session, link = emotions
    page = Page(browser, link, "ask/7?why=2")
    explained = why(session, 7, 2, {})
    assert browser.evaluate("document.querySelector('#why-conditional').textContent") == (
        f"{explained['probability']:.3f}"
    )
    shown = "document.querySelector('#why-marginal').textContent"
    assert browser.evaluate(shown) == f"{page.marginals()[2]:.3f}"
    assert f"{explained['probability']:.3f}" != f"{page.marginals()[2]:.3f}"
    assert "conditional on the other labels: " in page.text()
    assert "marginal, whatever the other labels are" in page.text()
    set_label(page, 4, "present")
    assert browser.evaluate(shown) == f"{page.marginals()[2]:.3f}"
    assert "marginal, given the fixed labels only" in page.text()
    page.check()


def test_the_forest_shows_which_labels_are_less_likely_together(browser, emotions):
    session, link = emotions
    page = Page(browser, link, "labels")
    forest = chow_liu(session.truth)
    couplings = [forest.couplings[child] for _, child in forest.edges]
    counts = {"more": np.greater(couplings, 0).sum(), "less": np.less(couplings, 0).sum()}
    for name, count in counts.items():
        edges = f"document.querySelectorAll('.forest .edge.{name}').length"
        assert browser.evaluate(edges) == count > 0
    dashes = "getComputedStyle(document.querySelector('.forest .edge.{}')).strokeDasharray"
    assert browser.evaluate(dashes.format("more")) == "none"
    assert browser.evaluate(dashes.format("less")) != "none"
    legend = browser.evaluate("document.querySelector('.forest-legend').innerText")
    assert legend.split("\n") == ["more likely together", "less likely together"]
    title = browser.evaluate("document.querySelector('.forest .edge.less title').textContent")
    assert "less likely together (−" in title
    table = browser.evaluate("document.querySelector('.dependence table').textContent")
    assert table.count("less likely together (−") == counts["less"]
    assert table.count("more likely together (+") == counts["more"]
    page.check()


def test_bars_of_features_have_one_scale(browser, emotions):
    session, link = emotions
    page = Page(browser, link, "ask/7")
    bars = browser.evaluate(
        "[...document.querySelectorAll('.features .filled')].map(e => parseFloat(e.style.width))"
    )
    deviations = np.abs((session.X[7] - session.X.mean(axis=0)) / session.X.std(axis=0))
    largest = np.sort(deviations)[::-1][:60]
    np.testing.assert_allclose(bars, 50 * largest / max(3, largest[0]), rtol=1e-3)
    assert "SDs from mean" in page.text()
    page.check()


@pytest.mark.parametrize("width", [390, 500, 1280])
def test_labels_that_do_not_fit_into_a_row_are_counted(browser, width):
    made = many_labels_session()
    with serving(made) as link:
        page = Page(browser, link, "rows", width=width)
        rows = browser.evaluate(
            """[...document.querySelectorAll('[data-row]')].map(row => {
              const cell = row.querySelector('.labels');
              const chips = [...cell.children].filter(chip => !chip.hidden);
              const count = cell.querySelector('.more')?.textContent ?? "+0";
              return { row: Number(row.dataset.row), count: Number(count), shown: chips.length,
                fits: chips.every(chip => chip.getBoundingClientRect().right
                  <= cell.getBoundingClientRect().right + 0.5) };
            })"""
        )
        page.check()
    for row in rows:
        labels = made.truth[row["row"]] | made.answers.labels[row["row"]]
        assert row["fits"]
        assert row["shown"] - (row["count"] > 0) + row["count"] == labels.sum()
    assert any(row["count"] for row in rows)


def test_a_table_that_scrolls_sideways_fades_out_there(browser, emotions):
    _, link = emotions
    more = "document.querySelector('.quality .scroll').hasAttribute('data-more')"
    page = Page(browser, link, "labels", width=1280)
    assert not browser.evaluate(more)
    page = Page(browser, link, "labels", width=390)
    assert browser.evaluate(more)
    browser.evaluate("document.querySelector('.quality .scroll').scrollLeft = 1000")
    browser.wait_for(f"!{more}")
    page.check()


def test_the_name_of_the_model_is_short(browser):
    model = make_pipeline(StandardScaler(), ClassifierChain(C=0.01, label_penalty=0.1))
    session = emotions_session(model)
    session.compute()
    with serving(session) as link:
        page = Page(browser, link, "model")
        subject = browser.evaluate("document.querySelector('#subject').textContent")
        assert subject == "emotions · ClassifierChain after StandardScaler"
        assert "Pipeline(" not in page.text()
        for selector in ("#subject", "#model-name"):
            title = browser.evaluate(f"document.querySelector('{selector}').title")
            assert "Pipeline(steps=[" in title
        page.check()


def test_rows_are_listed_in_order_and_found(browser, emotions):
    session, link = emotions
    page = Page(browser, link, "rows?order=confidence&descending=1")
    rows = "[...document.querySelectorAll('[data-row]')].map(e => Number(e.dataset.row))"
    listed = browser.evaluate(rows)
    expected = np.argsort(session.answers.log_prob, kind="stable")[::-1]
    assert sorted(listed) == sorted(expected[: len(listed)].tolist())
    assert len(listed) < 100  # a virtual list
    page.click("[data-row] a")
    browser.wait_for("document.querySelector('[data-view=\"ask\"]') !== null")
    page.check()


def test_a_label_called_script_is_harmless(browser, emotions):
    _, link = emotions
    for view in ("rows", "ask/0", "labels", "labels/0", "model"):
        page = Page(browser, link, view)
        assert (
            browser.evaluate("document.querySelectorAll('main b, script:not([src])').length") == 0
        )
        page.check()
    assert NASTY in Page(browser, link, "ask/0").text()


def test_a_link_without_its_token_says_so(browser, emotions):
    _, link = emotions
    browser.open(link.split("?")[0], width=800)
    browser.wait_for("document.body.innerText.includes('token')")
    assert browser.evaluate("document.querySelector('[data-row]')") is None


def test_a_long_chain_is_shown_with_standard_errors(browser):
    random = np.random.default_rng(0)
    X, Y = random.normal(size=(60, 4)), random.integers(0, 2, size=(60, 20))
    session = Session(ClassifierChain(C=1.0, label_penalty=1.0).fit(X, Y), X, Y)
    session.compute()
    with serving(session) as link:
        page = Page(browser, link, "ask/5")
        assert "sampled" in page.text()
        page.check()
