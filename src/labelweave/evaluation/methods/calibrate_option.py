"""The option `calibrate` of method specifications: ``pcc(calibrate='temperature')``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from labelweave._common.checks import check_choice
from labelweave._common.pipelines import innermost
from labelweave.evaluation.calibration.calibrated_joint import (
    OF_JOINTS,
    OF_MARGINALS,
    CalibratedJointCV,
)

__all__ = ["calibrated"]


def calibrated(estimator: Any, calibrate: str | Sequence[str]) -> CalibratedJointCV:
    """Return an estimator with calibration, as the option `calibrate` of a method names it.

    Parameters
    ----------
    estimator : estimator of P(y|x), or a pipeline that ends in one
        Its decision becomes that of the result.
    calibrate : str or list of str
        "temperature" for the joint distribution, "sigmoid" or "isotonic" for marginals; or one of
        either.

    Examples
    --------
    >>> from labelweave.models import BinaryRelevance
    >>> calibrated(BinaryRelevance(), "isotonic")
    CalibratedJointCV(estimator=BinaryRelevance(), joint=None, marginals='isotonic')
    """
    names = [calibrate] if isinstance(calibrate, str) else list(calibrate)
    for name in names:
        check_choice(name, "calibrate", (*OF_JOINTS, *OF_MARGINALS))
    of_marginals = [name for name in names if name in OF_MARGINALS]
    if len(names) != len(set(names)) or len(of_marginals) > 1 or not names:
        raise ValueError(
            "calibrate must be 'temperature', 'sigmoid' or 'isotonic', or the first and one of the "
            f"others; got {calibrate!r}"
        )
    model = CalibratedJointCV(
        estimator=estimator,
        joint="temperature" if "temperature" in names else None,
        marginals=of_marginals[0] if of_marginals else None,
        decision=getattr(innermost(estimator), "decision", "subset"),
    )
    model.base_estimator()  # refused before any data are read
    return model
