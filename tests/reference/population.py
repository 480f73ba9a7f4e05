"""One population of weighted prefixes in plain Python: one row, one prefix at a time."""

import math

from tests.reference.chain import log_sigmoid, score
from tests.reference.philox import uniform


def threshold(weights, size):
    """Return c with sum of min(w / c, 1) equal to ``size``, by trying how many are heavy."""
    ranked = sorted(weights, reverse=True)
    for n_heavy in range(size):
        c = sum(ranked[n_heavy:]) / (size - n_heavy)
        if ranked[n_heavy] < c:
            return c
    raise AssertionError("more weights than places always have a threshold")


class Systematic:
    """Draws balanced against one another: one whenever the sum of the shares passes an integer."""

    def __init__(self, reached):
        self.reached = reached

    def draw(self, share):
        self.reached += share
        drawn = self.reached >= 1
        self.reached -= drawn
        return drawn


def populate(scores, coupling, order, known, seed, row, population, size):
    """Return marginals by label, log-evidence, the quantum and the (vector, weight) pairs left."""
    prefixes, log_evidence, quantum = [({}, 1.0)], 0.0, 0.0
    marginals = [0.0] * len(scores)
    for position, label in enumerate(order):
        before = order[:position]
        odds = [score(scores, coupling, label, y, before) for y, _ in prefixes]
        if known[label] >= 0:
            value = int(known[label])
            sign = 1 if value else -1
            seen = [
                w * math.exp(log_sigmoid(sign * z))
                for (_, w), z in zip(prefixes, odds, strict=True)
            ]
            log_evidence += math.log(sum(seen))
            prefixes = [
                ({**y, label: value}, w / sum(seen))
                for (y, _), w in zip(prefixes, seen, strict=True)
            ]
            marginals[label] = value
            continue
        stream, cut = (
            Systematic(uniform(seed, row, 2 * population + i, int(label))) for i in (0, 1)
        )
        by_value = {0: [], 1: []}
        for (y, weight), z in zip(prefixes, odds, strict=True):
            part = {v: weight * math.exp(log_sigmoid(z if v else -z)) for v in (0, 1)}
            marginals[label] += part[1]
            light = 0 if part[0] < part[1] else 1
            if part[light] < quantum:
                given = min(quantum, weight)
                drawn = stream.draw(part[light] / given)
                part = {light: given if drawn else 0.0}
                part[1 - light] = weight - part[light]
            for v in (0, 1):
                if part[v] > 0:
                    by_value[v].append(({**y, label: v}, part[v]))
        prefixes = by_value[0] + by_value[1]
        if len(prefixes) > size:
            c = threshold([w for _, w in prefixes], size)
            prefixes = [(y, max(w, c)) for y, w in prefixes if w >= c or cut.draw(w / c)]
            quantum = max(quantum, c)
    return marginals, log_evidence, quantum, prefixes
