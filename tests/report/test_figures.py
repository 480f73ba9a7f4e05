"""Charts on a page: the figures are where the axes say, in the colours and the font of the page."""

import re

import numpy as np
import pytest
from matplotlib.figure import Figure

from labelweave._common.drawing import COLOURS
from labelweave.report.document import LineChart, Series, Strips
from labelweave.report.figures import _draw, draw
from tests.report.documents import EVERYTHING, INF, NAN
from tests.report.page import parse


def panel_of(chart):
    panel = Figure(layout="constrained").subplots()
    assert _draw(chart, panel) > 0
    return panel


def curves(panel):
    """Return the lines of series, without those of error bars' caps."""
    return [line for line in panel.lines if line.get_linestyle() != "None"]


@pytest.mark.parametrize("x_log", [False, True])
@pytest.mark.parametrize("y_log", [False, True])
def test_lines_and_error_bars_are_where_the_figures_are(x_log, y_log):
    measured = Series("a", (1, 20, 300, 4000), (0.5, NAN, 3.25, 11.0), (0.1, 0.1, 1.0, 12.0))
    other = Series("b", (2, 5, INF, -1), (6, 7, 8, -INF))
    panel = panel_of(LineChart("t", "x", "y", (measured, other), x_log, y_log))
    assert (panel.get_xscale(), panel.get_yscale()) == tuple(
        "log" if log else "linear" for log in (x_log, y_log)
    )
    first, second = curves(panel)
    np.testing.assert_array_equal(first.get_xydata(), np.c_[measured.x, measured.y])
    np.testing.assert_array_equal(second.get_xydata()[:2], [[2, 6], [5, 7]])
    # The line is interrupted where a value has no place on its axis.
    assert np.isnan(second.get_xydata()[2:]).any(axis=1).all()
    (bars,) = panel.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments() if len(segment)])
    np.testing.assert_allclose(ends, [[0.4, 0.6], [2.25, 4.25], [-1, 23]])


def test_ticks_of_wide_and_narrow_logarithmic_axes_are_plain_numbers():
    for xs, expected in (((2, 30), {"2", "5", "10", "20"}), ((1, 10**6), {"1", "100", "1e+06"})):
        panel = panel_of(LineChart("t", "x", "y", (Series("a", xs, (1, 2)),), x_log=True))
        panel.figure.draw_without_rendering()
        low, high = panel.get_xlim()
        shown = {
            label.get_text()
            for label in panel.get_xticklabels()
            if low <= label.get_position()[0] <= high
        }
        assert expected <= shown


def test_series_of_one_name_look_alike_but_for_the_dashes():
    pair = (Series("a", (1,), (1,)), Series("a", (1,), (2,), dashed=True), Series("b", (1,), (3,)))
    measured, published, other = panel_of(LineChart("t", "x", "y", pair)).lines
    assert published.get_color() == measured.get_color() != other.get_color()
    assert published.get_marker() == measured.get_marker() != other.get_marker()
    assert published.is_dashed()
    assert published.get_markerfacecolor() == "white"


def test_series_differ_in_more_than_colour():
    series = tuple(Series(f"{k}", (1,), (k,)) for k in range(56))
    lines = panel_of(LineChart("t", "x", "y", series)).lines
    assert len({(line.get_color(), line.get_marker()) for line in lines}) == 56
    # Within eight series, no two markers but one are the same.
    assert len({line.get_marker() for line in lines[:8]}) == 7


def test_the_legend_names_all_series_in_their_order():
    chart = EVERYTHING.sections[1].blocks[0]
    (legend,) = panel_of(chart).figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert (names[:2], names[3]) == (["a", "a"], "empty")
    assert len(names) == 4


def test_strips_have_their_figures_and_say_what_marks_mean():
    chart = Strips("t", "F1", {"br": (0.2, NAN, 0.4), "cc": (0.5, 0.7)}, {"cc": "worse"})
    panel = panel_of(chart)
    np.testing.assert_allclose(panel.lines[0].get_xdata(), (0.2, 0.4))
    np.testing.assert_allclose([line.get_xdata()[0] for line in panel.lines[1::2]], [0.3, 0.6])
    meanings = [text.get_text() for text in panel.figure.legends[0].get_texts()]
    assert meanings == [
        "one fold",
        "mean of the first method",
        "significantly better than the first",
    ]
    assert panel.get_xlabel() == "F1"


def test_long_names_stand_above_their_strips():
    name = "pcc(C=1, label_penalty=0.01)"
    panel = panel_of(Strips("t", "F1", {"br": (0.2,), name: (0.3,)}))
    assert [label.get_text() for label in panel.get_yticklabels()] == ["br", name]
    assert all(0 < k - at < 0.5 for k, at in enumerate(panel.get_yticks()))
    assert {label.get_horizontalalignment() for label in panel.get_yticklabels()} == {"left"}


def test_colours_and_font_are_those_of_the_page():
    charts = EVERYTHING.sections[1].blocks
    drawn = "".join(draw(chart, f"chart-{k}") for k, chart in enumerate(charts))
    assert not re.search(r"(?:fill|stroke): *#", drawn)
    assert "var(--series-0)" in drawn
    assert "font-family" not in drawn
    assert "DejaVu" not in drawn
    assert all(colour not in drawn for colour in COLOURS)
    names = [text.text for text in parse(drawn).all("text")]
    assert "seconds" in names  # text, not outlines of letters
    assert parse(drawn).all("style") == []
