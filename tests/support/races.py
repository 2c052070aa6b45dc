"""Measurements of races that nobody ran."""

from elmlda.bench.race import Measurement


def measurement(contestant, fanout, seconds=1.0, pi=None, lda=None):
    counts = [() if errors is None else (errors,) for errors in (pi, lda)]
    return Measurement(contestant, (fanout,), seconds, *counts)
