"""Parameters of estimators in a list with names, as of scikit-learn's stacking and voting."""

from __future__ import annotations

from typing import Any, Self

from labelweave.models.base import MultiLabelClassifier

__all__ = ["NamedEstimators"]


class NamedEstimators(MultiLabelClassifier):
    """A classifier whose `estimator` may be a list of (name, estimator).

    Its members are parameters by their names: ``set_params(forest=..., forest__max_depth=3)``.
    """

    estimator: Any

    def _members(self) -> dict[str, Any]:
        """Return the members by name; none if they have no names."""
        given = self.estimator
        has_names = isinstance(given, list) and all(
            isinstance(each, tuple) and len(each) == 2 and isinstance(each[0], str)
            for each in given
        )
        return dict(given) if has_names else {}

    def _check_names(self) -> None:
        """Raise an error for names that cannot be told from each other or from parameters."""
        members, own = self._members(), self.get_params(deep=False)
        if members and len(members) < len(self.estimator):
            names = [name for name, _ in self.estimator]
            raise ValueError(f"estimator: the names must differ; got {names}")
        for name in members:
            if name in own or "__" in name:
                raise ValueError(
                    f"estimator: {name!r} cannot be a name, because it has '__' or is a parameter "
                    f"of {type(self).__name__}; choose another"
                )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; if `deep`, also those of named members.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict
        """
        params = super().get_params(deep=deep)
        if deep:
            for name, member in self._members().items():
                params[name] = member
                if hasattr(member, "get_params") and not isinstance(member, type):
                    params |= {
                        f"{name}__{key}": value for key, value in member.get_params().items()
                    }
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; a member is replaced by its name, or its own parameters are set.

        Parameters
        ----------
        **params : dict

        Returns
        -------
        self
        """
        if "estimator" in params:
            super().set_params(estimator=params.pop("estimator"))
        members = self._members()
        replaced = {name: params.pop(name) for name in members if name in params}
        if replaced:
            self.estimator = list((members | replaced).items())
        return super().set_params(**params)
