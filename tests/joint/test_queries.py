"""Probabilities of events against enumeration, and the texts by which they are asked for."""

import operator
import re
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelweave.joint import ChainJoint, FieldJoint, IndependentJoint, MixtureJoint, TreeJoint
from labelweave.joint.events import (
    Compound,
    Count,
    Literal,
    Query,
    conjunction,
    disjunction,
    expanded,
    parse_query,
)
from tests.joint.cases import FORMS, evidence_for, forms, make, make_with_oracle, seeds
from tests.reference import table as oracle
from tests.reference import tree as tree_reference

NAMES = ("beach", "sad-lonely", "New York", 'say "it\'s"', "not")
COMPARISONS = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


# ---------------------------------------------------------------------- random events, as tuples

labels = st.tuples(st.just("label"), st.integers(0, 4), st.sampled_from(["", "=0", "= 1", "!=1"]))
counts = st.tuples(st.just("count"), st.sampled_from(sorted(COMPARISONS)), st.integers(0, 6))
events = st.recursive(
    labels | counts,
    lambda part: (
        st.tuples(st.just("not"), part)
        | st.tuples(st.sampled_from(["and", "or"]), st.lists(part, min_size=2, max_size=4))
    ),
    max_leaves=12,
)


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def written(event, n_labels):
    """Return an event as text: every compound in brackets, labels by name or position."""
    kind = event[0]
    if kind == "label":
        label = event[1] % n_labels
        named = NAMES[label] if NAMES[label] in ("beach", "sad-lonely") else quoted(NAMES[label])
        return (named if event[1] % 2 else str(label)) + event[2]
    if kind == "count":
        return f"count {event[1]} {event[2]}"
    if kind == "not":
        return f"not ({written(event[1], n_labels)})"
    return "(" + f" {kind} ".join(written(part, n_labels) for part in event[1]) + ")"


def happens(event, y):
    """Whether a label vector belongs to the event, by plain recursion."""
    kind = event[0]
    if kind == "label":
        return y[event[1] % len(y)] == (event[2] in ("", "= 1"))
    if kind == "count":
        return COMPARISONS[event[1]](sum(y), event[2])
    if kind == "not":
        return not happens(event[1], y)
    return (all if kind == "and" else any)(happens(part, y) for part in event[1])


def by_definition(table, event, condition=None):
    likely = [(y, p) for y, p in table.items() if condition is None or happens(condition, y)]
    total = sum(p for _, p in likely)
    return sum(p for y, p in likely if happens(event, y)) / total if total > 0 else np.nan


def named(joint):
    joint.label_names = NAMES[: joint.n_labels]
    return joint


def assert_is(estimate, expected):
    assert estimate.exact.all()
    assert (estimate.standard_error[np.isfinite(estimate.value)] == 0).all()
    np.testing.assert_allclose(estimate.value, expected, rtol=1e-7, atol=1e-10)


@given(forms, seeds, st.integers(0, 3), st.integers(1, 4), events)
def test_an_event_has_the_probability_of_its_vectors(form, seed, n, L, event):
    joint, rows = make_with_oracle(form, seed, n, L)
    found = named(joint).prob(written(event, L))
    assert_is(found, [by_definition(table, event) for table in rows])


@given(forms, seeds, st.integers(1, 4), events, events)
def test_a_condition_divides_by_its_probability(form, seed, L, event, condition):
    joint, rows = make_with_oracle(form, seed, 2, L)
    found = named(joint).prob(f"P({written(event, L)} | {written(condition, L)})")
    assert_is(found, [by_definition(table, event, condition) for table in rows])


@given(forms, seeds, st.integers(1, 4), events)
def test_queries_of_a_posterior_know_the_evidence(form, seed, L, event):
    joint, rows = make_with_oracle(form, seed, 3, L)
    known, evidence = evidence_for(joint, rows, seed)
    posterior = oracle.condition(rows, known)
    found = named(joint).condition(evidence).prob(written(event, L))
    assert_is(found, [by_definition(table, event) for table in posterior])


@given(events)
def test_cubes_exclude_each_other_and_make_up_the_event(event):
    parsed = parse_query(written(event, 5), 5, NAMES).event
    cubes = expanded(parsed)
    if cubes is None:
        return
    vectors = (np.arange(32)[:, None] >> np.arange(5)) & 1
    member = [
        conjunction([cube.rest, *(Literal(*item) for item in cube.known.items())]).holds(vectors)
        for cube in cubes
    ]
    np.testing.assert_array_equal(np.sum(member, axis=0), parsed.holds(vectors))


@given(events)
def test_an_event_and_its_opposite_share_all_vectors(event):
    parsed = parse_query(written(event, 5), 5, NAMES).event
    vectors = (np.arange(32)[:, None] >> np.arange(5)) & 1
    np.testing.assert_array_equal(parsed.holds(vectors), [happens(event, y) for y in vectors])
    np.testing.assert_array_equal(parsed.opposite().holds(vectors), ~parsed.holds(vectors))


SPELLINGS = {
    "and": (" AND ", " And ", "&", " && ", " & "),
    "or": (" OR ", "||", " Or "),
    "not": ("NOT ", "!", "~", " ! "),
}


@given(events, st.data())
def test_other_spellings_mean_the_same(event, data):
    plain = written(event, 2)

    def respelled(match):
        return data.draw(st.sampled_from(SPELLINGS[match.group().strip()]))

    other = re.sub(r" and | or |not ", respelled, plain).replace("count", "COUNT")
    assert parse_query(other, 2, NAMES[:2]) == parse_query(plain, 2, NAMES[:2])


def test_names_come_before_signs_and_capitals():
    names = ["R&B", "AND", "~", "Count", "Not"]
    for text, label in (("R&B", 0), ("AND", 1), ("~", 2), ("Count", 3), ("Not", 4)):
        assert parse_query(text, 5, names).event == Literal(label, 1)
        assert parse_query(f"not {text}=1", 5, names).event == Literal(label, 0)
    both = conjunction([Literal(1, 0), Literal(0, 0)])
    assert parse_query("!AND&!R&B", 5, names).event == both
    assert parse_query("~" * 40 + "0", 1).event == Literal(0, 1)


@pytest.mark.parametrize("text", ["P(0 | 1 | 2)", "(0 | 1)", "P(0 | (1 | 2))", "0 | 1 | 2"])
def test_a_second_bar_is_explained(text):
    with pytest.raises(ValueError, match="write 'or' for either of two events"):
        parse_query(text, 3)


# ---------------------------------------------------------------------- many labels


def wide_tree(rng, n=2, L=60):
    logits, parents = tree_reference.random_forest(rng, n, L, 1.0)
    return TreeJoint(logits, parents)


def parity(n_labels):
    """Text of an event that no expansion keeps short."""
    text = "0"
    for label in range(1, n_labels):
        text = f"(({text}) and not {label} or not ({text}) and {label})"
    return text


WIDE_QUERIES = (
    "0 or 17 or 40",
    "P(3 and not 4 or 5 | 20 or 21, 30=0)",
    "count >= 20 | 1, not 2",
    "3 and count <= 25 | count > 10 or 8",
    " or ".join(map(str, range(60))),
)


@pytest.mark.parametrize("query", WIDE_QUERIES)
def test_trees_and_their_mixtures_are_exact_for_any_number_of_labels(query):
    rng = np.random.default_rng(1)
    parts = [wide_tree(rng), wide_tree(rng), IndependentJoint(rng.normal(size=(2, 60)))]
    for joint in (parts[0], MixtureJoint([0.2, 0.5, 0.3], parts)):
        exact = joint.prob(query)
        assert exact.exact.all()
        sampled = joint.prob(query, samples=4000, random_state=3)
        assert not sampled.exact.any()
        assert (abs(exact.value - sampled.value) < 5 * sampled.standard_error + 1e-12).all()


def test_nearly_impossible_events_keep_their_digits():
    joint = IndependentJoint(np.full((1, 30), -30.0))
    small = np.exp(-30.0) / (1 + np.exp(-30.0))
    np.testing.assert_allclose(joint.prob("0 or 1").value, 2 * small - small**2, rtol=1e-12)
    np.testing.assert_allclose(joint.prob("0 and 1 | 2").value, small**2, rtol=1e-12)


@pytest.mark.parametrize("form", ["independent", "chain", "field"])
@pytest.mark.parametrize(
    "condition", ["", " | 16 or 15", pytest.param(" | 16", marks=pytest.mark.slow)]
)
def test_what_can_not_be_exact_states_its_error(form, condition):
    rng = np.random.default_rng(2)
    n, L, many = (2, 18, 3000) if form == "field" else (6, 20, 10_000)
    scores = rng.normal(size=(n, L))
    coupling = np.tril(rng.normal(scale=0.5, size=(L, L)), -1)
    joint = {
        "independent": IndependentJoint(scores),
        "chain": ChainJoint(scores, coupling),
        "field": FieldJoint(scores, (coupling + coupling.T) / 2),
    }[form]
    query = parity(7) + condition
    found = joint.prob(query)
    better = joint.prob(query, samples=many, random_state=1)
    assert not found.exact.any()
    assert (found.standard_error > 0).all()
    distance = (found.value - better.value) / np.hypot(found.standard_error, better.standard_error)
    assert np.abs(distance).max() < 5


def test_chains_are_exact_where_few_labels_are_ancestors():
    rng = np.random.default_rng(4)
    joint = ChainJoint(rng.normal(size=(2, 40)), np.tril(rng.normal(size=(40, 40)), -1))
    assert joint.prob("0 or 5 and not 3 | 7").exact.all()
    late = joint.prob("39")
    assert not late.exact.any()
    assert (late.standard_error > 0).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_row_has_the_same_value_in_any_batch(form):
    joint, _ = make(form, 5, 6, 4)
    for query in ("0 or 1", "count >= 2 | 0", parity(4), "not 0 | 1 or 2"):
        for samples, rtol in ((None, 1e-12), (50, 0)):  # tables are summed by BLAS
            whole = joint.prob(query, samples=samples).value
            apart = [joint[row].prob(query, samples=samples).value[0] for row in range(6)]
            np.testing.assert_allclose(whole, apart, rtol=rtol)


def test_impossible_conditions_have_no_probability():
    joint = TreeJoint(np.array([[[0.0, 0.0], [-np.inf, np.inf]], [[0.0, 0.0]] * 2]), [-1, 0])
    for query in ("0 | not 0, 1", "0 | not 0 and 1 or count > 2 and 0"):
        found = joint.prob(query)
        np.testing.assert_array_equal(np.isnan(found.value), [True, False])
        assert found.exact.all()
    assert np.isnan(joint.prob("1 | 0 and not 0").value).all()
    assert np.isnan(joint.prob("1 | count > 2", samples=10).value).all()


# ---------------------------------------------------------------------- texts


A, B, C = (Literal(label, 1) for label in range(3))


def every(*parts):
    return Compound(parts, every=True)


def some(*parts):
    return Compound(parts, every=False)


@pytest.mark.parametrize(
    ("text", "event"),
    [
        ("a and b or c", some(every(A, B), C)),
        ("a and (b or c)", every(A, some(B, C))),
        ("a, b or c", every(A, some(B, C))),
        ("not a and b", every(Literal(0, 0), B)),
        ("not not a", A),
        ("not (a or count<2)", every(Literal(0, 0), Count(">=", 2))),
        ("a=0", Literal(0, 0)),
        ("a == 1", A),
        ("a!=0", A),
        ("'a' and \"b\"", every(A, B)),
        ("2", C),
        ("P(a)", A),
        (" P ( a , b ) ", every(A, B)),
        ("a and a", A),
    ],
)
def test_texts_and_what_they_mean(text, event):
    assert parse_query(text, 3, ("a", "b", "c")) == Query(event)


def test_quotes_reach_every_name():
    names = ("count", "P", "a b", "x|y", "it's", 'say "no"', "back\\slash", "ünï", "1", "a\nb")
    for label, name in enumerate(names):
        assert parse_query(quoted(name), len(names), names).event == Literal(label, 1)
    assert parse_query("P and ünï", len(names), names).event == every(Literal(1, 1), Literal(7, 1))
    assert parse_query("P(P)", len(names), names).event == Literal(1, 1)


def test_numbers_are_positions_unless_labels_are_named_by_numbers():
    assert parse_query("1", 2, ("a", "b")).event == Literal(1, 1)
    assert parse_query("1", 2, ("1", "0")).event == Literal(0, 1)
    with pytest.raises(ValueError, match="no label is named '2'"):
        parse_query("2", 3, ("7", "8", "a"))


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("P(beech | urban)", "no label is named 'beech'; did you mean 'beach'?", "  ^^^^^"),
        ("BEACH", "did you mean 'beach'?", "^^^^^"),
        ("new | urban", "did you mean 'new york'?", "^^^"),
        ("zzz", "no label is named 'zzz'", "^^^"),
        ("beach and", "expected a label", "         ^"),
        ("beach and or urban", "expected a label", "          ^^"),
        ("count", "expected a comparison, as in 'count >= 2'", "     ^"),
        ("count > -1", "expected a whole number", "        ^^"),
        ("beach=2", "a label is 0 or 1", "      ^"),
        ("beach < 1", "expected 'and', 'or', ',', '|' or the end", "      ^"),
        ("(beach", "expected 'and', 'or', ',' or ')'", "      ^"),
        ("P(beach", "closes 'P('", "       ^"),
        ("P(beach) or urban", "or the end", "         ^^"),
        ("new york", "did you mean 'new york'?", "^^^"),
        ("beach urban", "a name in several words needs quotes", "      ^^^^^"),
        ("beach | urban | or", "'|' comes once", "              ^"),
        ("'beach", "this quote is not closed", "^"),
        ("beach ! urban", "expected 'and', 'or'", "      ^"),
        ("or", "the label of this name needs quotes: 'or'", "^^"),
        ("4", "labels are numbered from 0 to 3", "^"),
        ("9" * 5000, "labels are numbered from 0 to 3", "^" * 5000),
        ("", "expected a label", "^"),
        ("\tbeach\nand", "expected a label", "          ^"),
        ("(" * 60, "more than 50 levels", " " * 50 + "^"),
        ("not " * 60, "more than 50 levels", " " * 200 + "^^^"),
    ],
)
def test_errors_point_at_the_place(text, reason, place):
    with pytest.raises(ValueError) as error:
        parse_query(text, 4, ("beach", "urban", "new york", "or"))
    first, shown, mark = str(error.value).split("\n")
    assert first.startswith("query: ")
    assert reason in first
    assert shown == "    " + text.replace("\t", " ").replace("\n", " ")
    assert mark == "    " + place


def test_other_bad_input_is_named():
    joint = IndependentJoint([[0.0, 0.0]])
    with pytest.raises(ValueError, match="labels have no names here, only positions from 0 to 1"):
        joint.prob("beach")
    with pytest.raises(ValueError, match="query must be a text"):
        joint.prob(3)
    with pytest.raises(ValueError, match="samples must be"):
        joint.prob("0", samples=1)


@given(st.text("abP01()|,=!<>\"' \\not", max_size=30))
def test_any_text_is_read_or_refused(text):
    with suppress(ValueError):
        parse_query(text, 2, ("a", "b"))


def test_long_texts_are_read():
    many = ", ".join(f"{label} or {label + 1}=0" for label in range(999))
    parsed = parse_query(many, 1000).event
    assert len(parsed.parts) == 999
    assert disjunction([parsed, parsed]) == parsed
