"""Mulan's label files: an XML list of the columns that are labels, beside the ARFF file."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from labelweave.datasets.files import FilePath, data_name, read_bytes, shown


def read_label_names(path: FilePath) -> list[str]:
    """Return the label names of a Mulan XML file; those of a hierarchy, parents first."""
    try:
        root = ElementTree.fromstring(read_bytes(path))
    except ElementTree.ParseError as error:
        line, column = error.position
        message = str(error).partition(":")[0]
        raise ValueError(f"{shown(path)}:{line}:{column + 1}: not XML: {message}") from error
    names = [
        element.get("name") for element in root.iter() if element.tag.rpartition("}")[2] == "label"
    ]
    found = [name for name in names if name is not None]
    if not found or len(found) != len(names):
        raise ValueError(f'{shown(path)}: expected elements <label name="…">, found {len(found)}')
    return found


def find_label_file(path: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if there is one beside it.

    ``scene-train.arff.xz`` takes ``scene-train.xml``, else ``scene.xml``: the longest name that
    the file's own begins with.
    """
    path = Path(path)
    stem = data_name(path)
    candidates = [
        xml
        for xml in path.parent.glob("*.xml")
        if stem == xml.stem or (stem.startswith(xml.stem) and stem[len(xml.stem)] in "-_. ")
    ]
    return max(candidates, key=lambda xml: len(xml.stem), default=None)
