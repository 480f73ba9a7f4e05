"""Mulan's label files: XML files next to an ARFF file that list its label columns."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from labelweave.datasets.compression import FilePath, dataset_name, display_path, read_bytes


def read_label_names(path: FilePath) -> list[str]:
    """Return the label names in a Mulan XML file; in a hierarchy, parents come first."""
    try:
        root = ElementTree.fromstring(read_bytes(path))
    except ElementTree.ParseError as error:
        line, column = error.position
        message = str(error).partition(":")[0]
        raise ValueError(f"{display_path(path)}:{line}:{column + 1}: not XML: {message}") from error
    names = [
        element.get("name") for element in root.iter() if element.tag.rpartition("}")[2] == "label"
    ]
    found = [name for name in names if name is not None]
    if not found or len(found) != len(names):
        raise ValueError(
            f'{display_path(path)}: expected elements <label name="…">, found {len(found)}'
        )
    return found


def find_label_file(path: FilePath) -> Path | None:
    """Return the XML file that belongs to an ARFF file, if there is one next to it.

    ``scene-train.arff.xz`` matches ``scene-train.xml`` or else ``scene.xml``: the longest name that
    is a prefix of the file's own.
    """
    path = Path(path)
    stem = dataset_name(path)
    candidates = [
        xml
        for xml in path.parent.glob("*.xml")
        if stem == xml.stem or (stem.startswith(xml.stem) and stem[len(xml.stem)] in "-_. ")
    ]
    return max(candidates, key=lambda xml: len(xml.stem), default=None)
