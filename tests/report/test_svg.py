"""Charts: what is drawn is where the axes say it is, whatever the figures are."""

import math
from itertools import combinations, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from labelweave.report.svg import draw_lines, draw_ranks, draw_strips
from labelweave.report.svg.element import WIDTH
from labelweave.report.svg.ranks import indistinguishable_groups
from labelweave.report.svg.scales import fitted, is_drawable

from labelweave.report import LineChart, RankDiagram, Series, Strips
from tests.report.documents import INF, NAN, line_charts, rank_diagrams, strips
from tests.report.page import parse, position, scale_of, written_value

numbers = st.floats(allow_nan=False, allow_infinity=False)
# Places are written in hundredths.
PRECISION = 0.03
sensible = st.floats(-1e6, 1e6).filter(lambda value: value == 0 or abs(value) > 1e-6)


@given(st.lists(numbers, max_size=5), st.booleans(), st.integers(3, 8))
def test_ticks_are_on_the_scale_evenly_spaced_and_few(values, log, at_most):
    scale = fitted(values, 10, 110, log)
    assert all(10 <= scale(value) <= 110 for value in values if is_drawable(value, log))
    ticks = scale.ticks(at_most)
    assert 1 <= len(ticks) <= at_most + 3
    places = [scale(value) for value, _ in ticks]
    assert places == sorted(places)
    assert all(10 - 1e-6 <= place <= 110 + 1e-6 for place in places)
    assert len({label for _, label in ticks}) == len(ticks)
    if not log and len(places) > 2:
        steps = [b - a for a, b in pairwise(places)]
        assert max(steps) == pytest.approx(min(steps), abs=1e-4)


@given(st.lists(sensible, min_size=1, max_size=5))
def test_ticks_are_1_2_or_5_times_a_power_of_ten_apart(values):
    (first, _), (second, _), *_ = fitted(values, 0, 1).ticks()
    step = second - first
    mantissa = step / 10 ** math.floor(math.log10(step) + 1e-6)
    assert min(abs(mantissa - m) for m in (1, 2, 5)) < 1e-4


def test_labels_say_what_the_ticks_are():
    wide = fitted([1e-9, 1e12], 0, 1, log=True).ticks()
    assert [written_value(label) for _, label in wide] == pytest.approx([v for v, _ in wide])
    assert [label for _, label in fitted([2, 30], 0, 1, log=True).ticks()] == ["2", "5", "10", "20"]
    assert [label for _, label in fitted([-1, 1], 0, 1).ticks()] == [
        "-1.0",
        "-0.5",
        "0.0",
        "0.5",
        "1.0",
    ]
    assert [label for _, label in fitted([3], 0, 1).ticks()][:2] == ["2.85", "2.90"]
    assert [label for _, label in fitted([0, 4e7], 0, 1).ticks()][:3] == ["0", "10⁷", "2·10⁷"]


def points(chart, series):
    return [
        (x, y)
        for x, y in zip(series.x, series.y, strict=True)
        if is_drawable(x, chart.x_log) and is_drawable(y, chart.y_log)
    ]


@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("y_log", [False, True])
def test_markers_and_lines_are_where_the_figures_are(x_log, y_log):
    measured = Series("a", (1, 20, 300, 4000), (0.5, NAN, 3.25, 11.0), (0.1, 0.1, 1.0, 12.0))
    chart = LineChart("t", "x", "y", (measured, Series("b", (2, 5), (6, 7))), x_log, y_log)
    root = parse(draw_lines(chart, "chart"))
    x_at, y_at = scale_of(root, "x", x_log), scale_of(root, "y", y_log)
    for drawn, series in zip(root.all("g", class_="series"), chart.series, strict=True):
        places = [position(marker) for marker in drawn.all("path", class_="marker")]
        for place, (x, y) in zip(places, points(chart, series), strict=True):
            assert place == pytest.approx((x_at(x), y_at(y)), abs=PRECISION)
        steps = drawn.one("path", class_="line").attributes["d"]
        assert steps.count("M") + steps.count("L") == len(places)
    # The line is interrupted where there is no figure.
    first = root.all("path", class_="line")[0].attributes["d"]
    assert [step for step in first if step in "ML"] == ["M", "M", "L"]
    _, second, third = root.all("line", class_="error")
    assert second.number("y2") == pytest.approx(y_at(4.25), abs=PRECISION)
    assert second.number("y1") == pytest.approx(y_at(2.25), abs=PRECISION)
    if y_log:  # down to zero: the axis
        assert third.number("y1") == root.all("line", class_="axis")[0].number("y1")


def test_strips_are_where_the_figures_are():
    chart = Strips("t", "F1", {"br": (0.2, 0.3, 0.25), "pcc": (0.3, NAN, INF, 0.5), "none": ()})
    root = parse(draw_strips(chart, "chart"))
    x_at = scale_of(root, "x")
    for strip, (name, scores) in zip(
        root.all("g", class_="strip"), chart.scores.items(), strict=True
    ):
        known = [score for score in scores if math.isfinite(score)]
        assert strip.attributes["data-name"] == name
        dots = [dot.number("cx") for dot in strip.all("circle")]
        assert dots == pytest.approx([x_at(score) for score in known], abs=PRECISION)
        means = [mean.number("x1") for mean in strip.all("line", class_="mean")]
        expected = [x_at(sum(known) / len(known))] if known else []
        assert means == pytest.approx(expected, abs=PRECISION)


@given(
    st.dictionaries(st.text("abcdef", min_size=1), st.floats(1, 6), min_size=2, max_size=6),
    st.floats(0, 6),
)
def test_ranks_are_where_the_figures_are(ranks, difference):
    root = parse(draw_ranks(RankDiagram("t", ranks, difference), "chart"))
    x_at = scale_of(root, "x")
    drawn = {
        method.attributes["data-name"]: method.one("circle").number("cx")
        for method in root.all("g", class_="method")
    }
    assert drawn == pytest.approx({m: x_at(rank) for m, rank in ranks.items()}, abs=PRECISION)
    ruler = root.one("path", class_="ruler").attributes["d"]
    start, end = float(ruler[1:].split()[0]), float(ruler.split("H")[1].split("m")[0])
    axis_end = root.all("line", class_="axis")[-1].number("x2")
    expected = min(x_at(1 + difference), axis_end) - x_at(1)
    assert end - start == pytest.approx(expected, abs=PRECISION)
    bars = root.all("line", class_="group")
    for bar, group in zip(bars, indistinguishable_groups(ranks, difference), strict=True):
        ends = bar.number("x1") + 5, bar.number("x2") - 5
        expected = x_at(ranks[group[0]]), x_at(ranks[group[-1]])
        assert ends == pytest.approx(expected, abs=PRECISION)


@given(st.dictionaries(st.text("abcdef", min_size=1), st.floats(1, 6), max_size=6), st.floats(0, 6))
def test_two_methods_share_a_bar_if_and_only_if_they_do_not_differ(ranks, difference):
    groups = indistinguishable_groups(ranks, difference)
    for one, other in combinations(ranks, 2):
        shared = any(one in group and other in group for group in groups)
        assert shared == (abs(ranks[one] - ranks[other]) < difference)
    # No bar is part of another.
    assert not any(set(a) <= set(b) for a in groups for b in groups if a is not b)


@given(line_charts, rank_diagrams, strips)
def test_anything_can_be_drawn_and_stays_on_the_paper(lines, ranks, folds):
    for drawn in (draw_lines(lines, "a"), draw_ranks(ranks, "b"), draw_strips(folds, "c")):
        root = parse(drawn)
        picture = root.one("svg")
        assert picture.attributes["role"] == "img"
        assert picture.one("title", id=picture.attributes["aria-labelledby"]).text
        assert "nan" not in drawn.split("<title")[0]
        _, _, width, height = map(float, picture.attributes["viewbox"].split())
        assert width == WIDTH
        places = [position(marker) for marker in root.all("path", class_="marker")]
        places += [(dot.number("cx"), dot.number("cy")) for dot in root.all("circle")]
        assert all(0 <= x <= width and 0 <= y <= height for x, y in places)


def test_series_differ_in_more_than_colour():
    chart = LineChart("t", "x", "y", tuple(Series(f"{k}", (1,), (k,)) for k in range(56)))
    markers = parse(draw_lines(chart, "chart")).all("path", class_="marker")
    looks = {(marker.attributes["class"], marker.attributes["d"]) for marker in markers}
    assert len(looks) == 56
    # Within eight series, no two shapes but one are the same.
    assert len({marker.attributes["d"] for marker in markers[:8]}) == 7


def test_series_of_one_name_look_alike_but_for_the_dashes():
    pair = (Series("a", (1,), (1,)), Series("a", (1,), (2,), dashed=True))
    root = parse(draw_lines(LineChart("t", "x", "y", pair), "chart"))
    solid, hollow = root.all("path", class_="marker")
    assert hollow.attributes["class"] == solid.attributes["class"] + " hollow"
    assert hollow.attributes["d"] == solid.attributes["d"]
