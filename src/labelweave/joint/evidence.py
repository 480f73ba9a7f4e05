"""Evidence: labels whose values are known, as users write it and as an array."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from labelweave._common.arrays import Labels
from labelweave._common.checks import check_label, check_label_values

# From label index or name to 0 or 1, or to an (n,) array of 0, 1 and -1 (unknown).
Evidence: TypeAlias = Mapping[int | str, npt.ArrayLike]


def resolve_evidence(
    evidence: Evidence, n_rows: int, n_labels: int, label_names: tuple[str, ...] | None
) -> Labels:
    """Evidence as an int8 matrix of 0, 1 and -1 (unknown), one row per instance."""
    known = np.full((n_rows, n_labels), -1, dtype=np.int8)
    seen: set[int] = set()
    for key, value in evidence.items():
        label = check_label(key, "evidence", n_labels, label_names)
        if label in seen:
            raise ValueError(f"evidence names label {label} twice, by index and by name")
        seen.add(label)
        values = np.asarray(value)
        if values.shape not in ((), (n_rows,)):
            raise ValueError(
                f"evidence[{key!r}] must be one value or an array of {n_rows} values, one per row; "
                f"its shape is {values.shape}"
            )
        known[:, label] = check_label_values(values, (-1, 0, 1), f"evidence[{key!r}]")
    return known
