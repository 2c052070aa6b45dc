"""What the paper says and no record can decide."""

from __future__ import annotations

from elmlda.reports.claims.rule import Kind, Statement

UNTESTED = [
    Statement(key, text, key, where, unit="", remark=why, kind=Kind.UNTESTED, full=0)
    for key, text, where, why in (
        (
            "comparable-to-others",
            "Its 1.7 % is comparable to the best of most other 2 and 3 layer networks on the raw data",
            "Discussion",
            "the others' error rates are in its reference [7], and how near is comparable is not said",
        ),
        (
            "bayes-optimal",
            "The weights are the best single point estimates from a Bayesian perspective",
            "Abstract, Section 1",
            "a property of the model of Eq. (8), not of measured error rates",
        ),
        (
            "viable-alternative",
            "LDA-ELM is a viable alternative to PI-ELM, especially at small fan-outs",
            "Discussion",
            "a recommendation; the error rates and times that it rests on are judged above",
        ),
        (
            "figures-between",
            "The curves of Figs. 1 and 2 between the numbers that are printed",
            "Figs. 1 and 2",
            "drawn, but not printed as numbers",
        ),
        (
            "seconds",
            "The seconds of Table 2",
            "Table 2",
            "of a laptop of 2012: only LDA-ELM's share of them can be compared, and is judged above",
        ),
    )
]
