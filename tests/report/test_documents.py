"""Documents refuse what cannot be shown, and files what they cannot be."""

import pytest

from labelweave.report import Document, Series, Table, Verdict, write_document
from tests.report.documents import EVERYTHING


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Table("t", (), ()), "columns must name"),
        (lambda: Table("t", ("a", "b"), (("1", "2"), ("1",))), "rows must have 2 .* row 1 has 1"),
        (lambda: Series("s", (1, 2), (1,)), "y must have one value per x"),
        (lambda: Series("s", (1, 2), (1, 2), (0.1,)), "error must be empty or have one value"),
        (lambda: Verdict("1", "c", "maybe", "", "", ""), "outcome must be 'reproduced'"),
    ],
)
def test_what_cannot_be_shown_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("ending", ["html", "md", "tex", "HTML"])
def test_files_are_whole_or_not_there(tmp_path, ending):
    path = tmp_path / f"report.{ending}"
    write_document(EVERYTHING, path)
    assert path.read_text(encoding="utf-8").endswith("\n")
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    kept = path.read_bytes()
    with pytest.raises(AttributeError):
        write_document(Document("t", "s", (None,)), path)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("name", ["report.pdf", "report", "report.html.gz"])
def test_other_extensions_are_refused(tmp_path, name):
    with pytest.raises(ValueError, match=r"path must have the extension \.html, \.md or \.tex"):
        write_document(EVERYTHING, tmp_path / name)
