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
        has_names = isinstance(given, list | tuple) and all(_is_named(each) for each in given)
        return dict(given) if has_names else {}

    def _check_names(self) -> None:
        """Raise an error for names that cannot be told from each other or from parameters."""
        given, members, own = self.estimator, self._members(), self.get_params(deep=False)
        if isinstance(given, list | tuple) and len(given) == 0:
            raise ValueError("estimator must have at least one classifier; got an empty list")
        if not members:
            if isinstance(given, list | tuple) and any(isinstance(e, tuple | str) for e in given):
                raise ValueError(
                    "estimator must be a classifier, a list of classifiers, or a list of pairs "
                    f"(name, classifier) throughout; got {given!r}"
                )
            return
        if len(members) < len(given):
            names = [name for name, _ in given]
            raise ValueError(f"estimator: the names must differ; got {names}")
        for name in members:
            if not name or name in own or "__" in name:
                raise ValueError(
                    f"estimator: {name!r} cannot be a name, because it is empty, has '__' or is a "
                    f"parameter of {type(self).__name__}; choose another"
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
            self.estimator = [(name, replaced.get(name, each)) for name, each in self.estimator]
        return super().set_params(**params)


def _is_named(member: Any) -> bool:
    return isinstance(member, tuple) and len(member) == 2 and isinstance(member[0], str)
