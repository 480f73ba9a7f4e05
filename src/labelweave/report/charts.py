"""What the charts of a report show: lines, ranks and strips of scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["LineChart", "RankDiagram", "Series", "Strips"]


@dataclass(frozen=True)
class Series:
    """One line of a chart.

    Parameters
    ----------
    name : str
        Name in the legend.
    x, y : tuple of float
        Coordinates; the line is interrupted where one is not finite.
    error : tuple of float, default=()
        Half-lengths of error bars; none if empty.
    dashed : bool, default=False
        Whether the line is dashed, as published figures beside measured ones are.

    Examples
    --------
    >>> Series("br", (1, 2, 3), (0.5, 0.6, 0.61), error=(0.1, 0.05, 0.02)).name
    'br'
    """

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    error: tuple[float, ...] = ()
    dashed: bool = False

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"y must have one value per x; got {len(self.y)} for {len(self.x)}")
        if self.error and len(self.error) != len(self.y):
            raise ValueError(
                f"error must be empty or have one value per y; got {len(self.error)} "
                f"for {len(self.y)}"
            )


@dataclass(frozen=True)
class LineChart:
    """Lines with markers over linear or logarithmic axes, and a legend.

    Examples
    --------
    >>> line = Series("trees", (1, 2, 4), (0.5, 0.6, 0.61))
    >>> LineChart("Size of the mixture", "trees", "exact match", (line,), x_log=True).x_log
    True
    """

    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    x_log: bool = False
    y_log: bool = False
    note: str = ""


@dataclass(frozen=True)
class RankDiagram:
    """Critical-difference diagram (Demšar, 2006): average ranks, and who cannot be told apart.

    Parameters
    ----------
    title : str
        Caption.
    ranks : mapping of str to float
        Average rank of each method, 1 being best.
    critical_difference : float
        Methods whose ranks differ by less are connected by a bar.
    note : str, default=""
        Number of data sets, test and level.

    Examples
    --------
    >>> RankDiagram("Ranks", {"br": 2.5, "cc": 2.0, "pcc": 1.5}, 1.05).critical_difference
    1.05
    """

    title: str
    ranks: Mapping[str, float]
    critical_difference: float
    note: str = ""


@dataclass(frozen=True)
class Strips:
    """One strip of dots per method: a dot for each fold, and a mark at the mean.

    Parameters
    ----------
    title : str
        Caption.
    label : str
        What the axis measures.
    scores : mapping of str to tuple of float
        Scores by method; those that are not finite are not drawn.
    note : str, default=""
        A remark below the chart.

    Examples
    --------
    >>> Strips("Folds", "exact match", {"br": (0.2, 0.3), "pcc": (0.3, 0.4)}).label
    'exact match'
    """

    title: str
    label: str
    scores: Mapping[str, tuple[float, ...]]
    note: str = ""
