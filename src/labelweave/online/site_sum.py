"""The posterior of parts that were learned apart: the sum of their sites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelweave._common.arrays import Indices
from labelweave.datasets.limits import Limits
from labelweave.online.memory import check_room
from labelweave.online.natural import Evidence
from labelweave.online.panels import WeightPanels, Weights, panel_slices
from labelweave.online.settings import OnlineSettings
from labelweave.online.sites import BY_LABEL, Site, columns_of, consistent, inside, tiles
from labelweave.online.state import OnlineState


class SiteSum:
    """Sites of parts, added one by one: they need not all be held in memory.

    The sum depends on their order, to the last bit. It is kept in float32, as the posterior is: a
    thousand equal parts, the worst case, change a weight by 3e-5 of itself. Labels come in the
    order in which the parts met them.

    Parameters
    ----------
    settings : OnlineSettings
        With which the parts were learned.
    limits : Limits, optional
        How much memory the posterior may take.

    Attributes
    ----------
    labels : tuple of int
        The numbers of the labels of all parts.

    Examples
    --------
    >>> from labelweave.online.partitions import learn_partition
    >>> X, Y = np.eye(3), np.array([[1, 0], [0, 1], [1, 0]])
    >>> settings, total = OnlineSettings(), SiteSum(OnlineSettings())
    >>> for rows in (slice(0, 1), slice(1, 3)):
    ...     total.add(learn_partition((X[rows], Y[rows]), settings).site)
    >>> total.posterior().n_rows
    3
    """

    def __init__(self, settings: OnlineSettings, limits: Limits | None = None) -> None:
        self.settings, self.limits = settings, limits
        self.labels: tuple[int, ...] = ()
        self._n_features = 0
        self._panels = WeightPanels(prior_variance=0.0)  # sums that begin with nothing
        self._row_length: float | None = None
        self._biases = np.zeros((2, 1 if settings.coupled else 0))
        self._counts = {name: array.copy() for name, array in OnlineState().counts().items()}

    def add(self, site: Site) -> None:
        """Add what a part taught."""
        self._make_room(site)
        target = columns_of(site.labels, self.labels)
        for name, array in site.counts.items():
            if name in BY_LABEL:
                self._counts[name][target] += array
            else:
                self._counts[name] = self._counts[name] + array
        self._biases[:, slice(None) if self.settings.coupled else target] += site.biases
        if not site.counts["n_rows"]:
            return
        # Sums are for features divided by the row length of the first part, whatever its size.
        self._row_length = self._row_length or site.row_length
        for panel, columns in zip(
            self._panels.views(), panel_slices(len(self.labels)), strict=True
        ):
            mine, place = inside(target, columns)
            for rows in tiles(len(site.precision), columns):
                gained = site.evidence(rows, mine, self._row_length)
                _add_to(panel, np.append(0, 1 + site.features)[rows], place, gained)

    def posterior(self, n_features: int = 0) -> OnlineState:
        """Return the posterior of all parts together, with `n_features` or more features."""
        sizes = max(n_features, self._n_features), len(self.labels)
        state = OnlineState(*sizes, settings=self.settings)
        state.set_counts(consistent(self._counts))
        scale = (self._row_length or 1.0) / state.row_length
        for number, panel in enumerate(self._panels.views()):
            for rows in tiles(len(panel), panel_slices(sizes[1])[number]):
                total = Evidence(*np.moveaxis(panel[rows], 1, 0).copy())
                constant = rows.start == 0
                Evidence(*(part[constant:] for part in total)).scaled(scale)
                state.set_weights(number, rows, *total.moments(self.settings.prior_variance))
        state.set_bias(*Evidence(*self._biases).moments(self.settings.bias_prior))
        state.mark_current()
        return state

    def _make_room(self, site: Site) -> None:
        labels = tuple(dict.fromkeys((*self.labels, *site.labels)))
        last = int(site.features[-1]) + 1 if len(site.features) else 0
        n_features = max(self._n_features, last)
        if self.limits is not None:
            check_room(self.limits, n_features, len(labels), 0, "all partitions together")
        self.labels, self._n_features = labels, n_features
        self._panels.grow(1 + self._n_features, len(self.labels))
        for name in BY_LABEL:
            self._counts[name] = _longer(self._counts[name], len(self.labels))
        if not self.settings.coupled:
            self._biases = _longer(self._biases.T, len(self.labels)).T


def posterior_of(
    sites: Iterable[Site], settings: OnlineSettings, n_features: int = 0
) -> tuple[OnlineState, tuple[int, ...]]:
    """Return the posterior of some parts together, and the numbers of its labels."""
    total = SiteSum(settings)
    for site in sites:
        total.add(site)
    return total.posterior(n_features), total.labels


def _add_to(panel: Weights, rows: Indices, place: slice | Indices, gained: Evidence) -> None:
    for moment, values in enumerate(gained):
        if isinstance(place, slice):
            panel[rows, moment, place] += values
        else:
            panel[rows[:, None], moment, place] += values


def _longer(array: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the array with zeros at its end."""
    return np.concatenate([array, np.zeros((length - len(array), *array.shape[1:]), array.dtype)])
