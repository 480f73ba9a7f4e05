"""Documents with every kind of block: one written by hand, and all that hypothesis can think of."""

from hypothesis import strategies as st

from labelweave.report.document import (
    OUTCOMES,
    Cell,
    Document,
    Facts,
    LineChart,
    Paragraph,
    RankDiagram,
    Section,
    Series,
    Strips,
    Table,
    Verdict,
    Verdicts,
)

NASTY = "<script>alert('x')</script> & \"quotes\" | 100 % of $x_1^2$ \\ {a} #1 ~ --x [y] ● 中"
INF, NAN = float("inf"), float("nan")

EVERYTHING = Document(
    f"Title {NASTY}",
    f"Subtitle {NASTY} and `code`",
    (
        Section(
            f"Tables {NASTY}",
            (
                Table(
                    f"Scores {NASTY}",
                    ("method", "F1", f"loss {NASTY}"),
                    (
                        (f"row {NASTY}", Cell("0.61", strong=True, mark="●"), "0.2"),
                        ("other", "0.58", Cell("–", muted=True)),
                    ),
                    "bold: **best**",
                ),
                Table("No rows", ("alone",), ()),
                Table(
                    "Wide", tuple(f"column {k}" for k in range(30)), (("0.1234 ± 0.0123",) * 30,)
                ),
                Facts("Machine", (("CPU", NASTY), ("cores", "2"))),
                Paragraph(f"**Bold {NASTY}** then `code | <b>`."),
                Verdicts(
                    "Claims",
                    tuple(
                        Verdict(f"{k}", f"claim {NASTY}", outcome, "0.1", "0.2", f"why {NASTY}")
                        for k, outcome in enumerate(OUTCOMES)
                    ),
                ),
            ),
        ),
        Section(
            "Charts",
            (
                LineChart(
                    f"Lines {NASTY}",
                    "rows",
                    "seconds",
                    (
                        Series("a", (1, 10, 100, 1000), (0.1, 0.5, NAN, 7), (0.01, 0.6, 0.1, 1)),
                        Series("a", (1, 100), (0.2, 1.5), dashed=True),
                        Series(NASTY, (2, INF, 50), (0.3, 0.4, 20.0)),
                        Series("empty", (), ()),
                    ),
                    x_log=True,
                    y_log=True,
                    note="dashed: published",
                ),
                LineChart(
                    "Straight", "trees", "F1", (Series("mc", (1, 2, 3), (0.25, -0.5, 0.75)),)
                ),
                LineChart("One point", "x", "y", (Series("a", (5,), (3,)),)),
                LineChart("Nothing", "x", "y", ()),
                RankDiagram("Ranks", {"br": 3.5, NASTY: 1.25, "pcc": 2.0, "sc": 3.25}, 1.1, "n"),
                RankDiagram("Equal ranks", {"a": 2.0, "b": 2.0, "c": 2.0}, 4.0),
                Strips("Folds", "F1", {"br": (0.2, 0.3, 0.25), "long " * 12: (0.3, NAN, INF)}),
                Strips(
                    *("One dot", NASTY, {"br": (0.5,), "cc": (0.7,), "nothing": ()}),
                    {"cc": "worse", "nothing": None},
                ),
            ),
        ),
        Section("Empty", ()),
    ),
)

texts = st.text(max_size=12) | st.sampled_from([NASTY, "a\x00\ud800", "]]>", "<!--", "</style>"])
numbers = st.floats() | st.integers(-5, 5).map(float)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 4))
    cells = texts | st.builds(Cell, texts, st.booleans(), st.booleans(), texts)
    rows = draw(st.lists(st.tuples(*[cells] * n), max_size=4))
    columns = draw(st.tuples(*[texts] * n))
    return Table(draw(texts), columns, tuple(rows), draw(texts))


@st.composite
def series(draw):
    n = draw(st.integers(0, 5))
    x, y, error = (tuple(draw(st.lists(numbers, min_size=n, max_size=n))) for _ in range(3))
    return Series(draw(texts), x, y, draw(st.sampled_from([(), error])), draw(st.booleans()))


line_charts = st.builds(
    LineChart, texts, texts, texts, st.lists(series(), max_size=4).map(tuple),
    st.booleans(), st.booleans(), texts,
)  # fmt: skip
rank_diagrams = st.builds(
    RankDiagram,
    texts,
    st.dictionaries(texts, st.floats(0.5, 9) | st.just(NAN), max_size=6),
    numbers,
)
strips = st.builds(
    Strips,
    texts,
    texts,
    st.dictionaries(texts, st.lists(numbers, max_size=4).map(tuple), max_size=4),
    st.none() | st.just({}),
)
verdicts = st.builds(
    Verdict, texts, texts, st.sampled_from(OUTCOMES), texts, texts, texts
)  # fmt: skip
charts = st.one_of(line_charts, rank_diagrams, strips)
blocks = st.one_of(
    tables(),
    st.builds(Paragraph, texts),
    st.builds(Facts, texts, st.lists(st.tuples(texts, texts), max_size=3).map(tuple)),
    st.builds(Verdicts, texts, st.lists(verdicts, max_size=3).map(tuple)),
    charts,
)
documents = st.builds(
    Document,
    texts,
    texts,
    st.lists(
        st.builds(Section, texts, st.lists(blocks, max_size=4).map(tuple)), max_size=3
    ).map(tuple),
)  # fmt: skip
