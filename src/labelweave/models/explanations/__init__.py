"""Why this label, why this set: log-odds and log-ratios as sums of contributions (math.md, 12)."""

from labelweave.models.explanations.explain import can_explain, explain_label, explain_set
from labelweave.models.explanations.explanation import Explanation

__all__ = ["Explanation", "can_explain", "explain_label", "explain_set"]
