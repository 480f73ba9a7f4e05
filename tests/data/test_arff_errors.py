"""Every complaint names file, line, column, what was expected and what was found."""

from __future__ import annotations

import re

import pytest

from labelweave.data.arff import read_arff

HEAD = """@relation 'r: -C 1'
@attribute y {0,1}
@attribute x numeric
@attribute 'a b' {3,4}
@data
"""


def complaint(folder, text, labels=None):
    path = folder / "bad.arff"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(ValueError) as caught:
        read_arff(path, labels)
    message = str(caught.value)
    assert str(path) in message
    return message.replace(str(path), "bad.arff")


BAD_ROWS = [
    ("1,x,3\n", "6:3: expected a finite number for column 2 ('x'), found 'x'"),
    ("1,2.5.1,3\n", "6:3: expected a finite number for column 2 ('x'), found '2.5.1'"),
    ("1,nan,3\n", "6:3: expected a finite number for column 2 ('x'), found 'nan'"),
    ("1,-inf,3\n", "6:3: expected a finite number for column 2 ('x'), found '-inf'"),
    ("1,1e999,3\n", "6:3: expected a finite number for column 2 ('x'), found '1e999'"),
    ("1,+-1,3\n", "6:3: expected a finite number for column 2 ('x'), found '+-1'"),
    ("0,1,3\n1,2\n", "7:4: expected a value for column 3 ('a b') of 3, found the end of"),
    ("1,2", "6:4: expected a value for column 3 ('a b') of 3, found the end of the file"),
    ("1,2,3,4\n", "6:6: expected the end of the row after 3 values, found ','"),
    ("1,,3\n", "6:3: expected a value for column 2 ('x'), found ','"),
    ("1,2,\n", "6:5: expected a value for column 3 ('a b'), found the end of the line"),
    ("1,2,5\n", "6:5: expected one of {3,4} for column 3 ('a b'), found '5'"),
    ("2,2,3\n", "6:1: expected one of {0,1} for column 1 ('y'), found '2'"),
    ("1,2,'3\n4'\n", "6:5: the quote that begins here does not end on this line"),
    ("1,2,3\n{0 1}\n", "7:1: expected one of {0,1} for column 1 ('y'), found '{'"),
    ("1,2,3, {0.5}\n", "6:6: expected the end of the row after 3 values, found ','"),
    ("{0 1}\n1,2,3\n", "7:1: expected '{', as in the rows before, found '1'"),
    ("{0 1, 3 1}\n", "6:7: expected a column index from 0 to 2, found '3'"),
    ("{-1 1}\n", "6:2: expected a column index from 0 to 2, found '-1'"),
    ("{x 1}\n", "6:2: expected a column index from 0 to 2, found 'x'"),
    ("{1}\n", "6:3: expected a value for column 2 ('x'), found '}'"),
    ("{1 }\n", "6:4: expected a value for column 2 ('x'), found '}'"),
    ("{1 2 3}\n", "6:6: expected ',' or '}', found '3'"),
    ("{1 2,}\n", "6:6: expected a column index from 0 to 2, found '}'"),
    ("{1 2\n", "6:5: expected ',' or '}', found the end of the line"),
    ("{1 2, 1 3}\n", "6:7: column index 1 is given twice in this row"),
    ("{1 2} 5\n", "6:7: expected the end of the row, found '5'"),
    ("{2 é}\n", "6:4: expected one of {3,4} for column 3 ('a b'), found 'é'"),
    (
        "a\x07" + 50 * "é",
        "6:1: expected one of {0,1} for column 1 ('y'), found 'a\\x07" + 19 * "é" + "…'",
    ),
]


@pytest.mark.parametrize(("rows", "expected"), BAD_ROWS)
def test_rows(tmp_path, rows, expected):
    assert f"bad.arff:{expected}" in complaint(tmp_path, HEAD + rows)


def test_no_rows(tmp_path):
    expected = "bad.arff: expected rows after the line @data, found none"
    assert complaint(tmp_path, HEAD + "\n% nothing\n") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1:1: expected a line @data, found the end of the file"),
        ("@relation r\n@attribute y {0,1}\n", "3:1: expected a line @data, found the end"),
        ("@relation r\n@data\n1\n", "2:1: expected an @attribute before @data, found '@data'"),
        ("hello\n", "1:1: expected @relation, @attribute or @data, found 'hello'"),
        ("\n  @attr y {0,1}\n", "2:3: expected @relation, @attribute or @data, found '@attr'"),
        ("@attribute\n", "1:11: expected the name of the attribute, found the end of the line"),
        ("@attribute 'y {0,1}\n", '1:12: expected the name of the attribute, found "\'y"'),
        ("@attribute y\n", "1:13: expected numeric, real, integer, string, date or {value,value}"),
        ("@attribute y relational\n", "1:14: expected numeric, real, integer, string, date or"),
        ("@attribute é numeric 5\n", "1:22: expected the end of the line, found '5'"),
        ("@attribute y {0,1\n", "1:18: expected ',' or '}', found the end of the line"),
        ("@attribute y {0,}\n", "1:17: expected a value of the nominal attribute, found '}'"),
        ("@attribute y {}\n", "1:15: expected a value of the nominal attribute, found '}'"),
        ("@attribute y {0,1} x\n", "1:20: expected the end of the line, found 'x'"),
        (
            "@attribute y {0,1}\n@attribute y {0,1}\n",
            "2:1: expected a new attribute name, found 'y' again (declared in line 1)",
        ),
        ("@attribute y {0,1}\n@data 5\n", "2:7: expected the end of the line, found '5'"),
    ],
)
def test_header(tmp_path, text, expected):
    assert f"bad.arff:{expected}" in complaint(tmp_path, text)


def test_meaningless_nominals(tmp_path):
    rest = "@data\nred,1\n"
    text = "@attribute colour {red,green}\n@attribute y {0,1}\n" + rest
    message = complaint(tmp_path, text, "colour")
    assert "expected the values {0,1} for label 'colour', found {red,green}" in message
    message = complaint(tmp_path, "@attribute y {1,2}\n@data\n1\n", "y")
    assert "expected the values {0,1} for label 'y', found {1,2}" in message


def test_numeric_labels_must_be_binary(tmp_path):
    text = "@attribute y numeric\n@attribute x numeric\n@data\n1.0,0\n"
    assert "bad.arff:5:1: expected 0 or 1 for label 'y', found '0.5'" in complaint(
        tmp_path, text + "0.5,2\n", "y"
    )


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (None, "cannot tell which columns are labels: put Mulan's bad.xml next to it"),
        ("last:3", "cannot use the last 3 columns as labels, there are 2"),
        ("first:0", "cannot use the first 0 columns as labels"),
        ("wnid", "there is no column 'wnid' for a label; did you mean 'wind'?"),
        (["zzz"], "there is no column 'zzz' for a label; the columns are: sun, wind"),
        ([], "labels is empty"),
        (["sun", "sun"], "labels contains the same column twice"),
    ],
)
def test_label_choice(tmp_path, labels, expected):
    text = "@relation r\n@attribute sun {0,1}\n@attribute wind numeric\n@data\n1,2\n"
    assert expected in complaint(tmp_path, text, labels)


def test_label_file(tmp_path):
    text = "@relation r\n@attribute sun {0,1}\n@attribute wind numeric\n@data\n1,2\n"
    (tmp_path / "bad.xml").write_text('<labels><label name="son"/></labels>')
    assert "bad.xml: there is no column 'son' for a label; did you mean 'sun'?" in complaint(
        tmp_path, text
    )
    for xml, expected in [
        ("<labels>", r"bad.xml:1:9: not XML: no element found"),
        ("<labels/>", r"bad.xml: expected elements <label name="),
        ("<labels><label/></labels>", r"bad.xml: expected elements <label name="),
    ]:
        (tmp_path / "bad.xml").write_text(xml)
        with pytest.raises(ValueError, match=re.escape(expected)):
            read_arff(tmp_path / "bad.arff")


def test_files_of_other_columns_do_not_follow(tmp_path):
    for name, column in [("a", "x"), ("b", "z")]:
        text = f"@relation 'r: -C 1'\n@attribute y {{0,1}}\n@attribute {column} real\n@data\n1,2\n"
        (tmp_path / f"{name}.arff").write_text(text)
    with pytest.raises(ValueError, match="'b' does not have the columns of 'a'"):
        read_arff([tmp_path / "a.arff", tmp_path / "b.arff"])
    with pytest.raises(ValueError, match="empty list"):
        read_arff([])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_arff(tmp_path / "nowhere.arff")
