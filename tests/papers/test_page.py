"""The page about the reproduction shows the kept results."""

from benchmarks.reproduction import PAGE, page


def test_tables_are_those_of_the_kept_results(shared_data):
    text = PAGE.read_text(encoding="utf-8")
    assert page(text) == text, "run python -m benchmarks.reproduction"
