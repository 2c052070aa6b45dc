"""The records of `elmlda shaped`: networks and ensembles of both methods, each at its own setting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from elmlda.experiments.selection import METHODS
from elmlda.runs.plausible import require_plausible
from elmlda.settings import INPUT_WEIGHTS, PRECISIONS


@dataclass(frozen=True)
class Setting:
    """What one method's networks of one kind are made with."""

    input_weights: str
    method: str
    weight_size: float
    """The norm of each unit's weights; of uniform weights, their range."""
    ridge: float

    @property
    def key(self) -> tuple[str, str, float, float]:
        return self.input_weights, self.method, self.weight_size, self.ridge


@dataclass(frozen=True)
class Tested(Setting):
    """Test errors of a classifier."""

    EXPERIMENT: ClassVar[str] = "shaped"
    repeat: int
    n_hidden: int
    errors: int
    n_test: int
    wrong: str
    """Places of the test samples that it gets wrong, from 0, of the largest classifiers only."""

    def __post_init__(self) -> None:
        require_plausible(
            self,
            positive=("weight_size", "n_hidden", "n_test"),
            at_most={"errors": self.n_test},
            one_of={"input_weights": INPUT_WEIGHTS, "method": METHODS},
        )
        if self.wrong and (len(self.places) != self.errors or max(self.places) >= self.n_test):
            raise ValueError(
                f"wrong has {len(self.places)} places, expected {self.errors} below {self.n_test}"
            )

    @property
    def places(self) -> set[int]:
        """Of the test samples that it gets wrong."""
        return {int(word) for word in self.wrong.split()}

    @property
    def has_places(self) -> bool:
        return len(self.places) == self.errors

    @property
    def setting(self) -> Setting:
        return Setting(*super().key)

    @property
    def key(self) -> Any:
        return *super().key, self.repeat, self.n_hidden


@dataclass(frozen=True)
class ShapedRecord(Tested):
    """One row of networks.csv: one method at one hidden size of one network."""

    FILE: ClassVar[str] = "networks.csv"
    FIXED: ClassVar[tuple[str, ...]] = ()
    fanout: float
    seconds: float
    """Of the whole network, for all its sizes and methods."""
    precision: str

    def __post_init__(self) -> None:
        super().__post_init__()
        require_plausible(self, positive=("fanout",), one_of={"precision": PRECISIONS})


@dataclass(frozen=True)
class ShapedEnsembleRecord(Tested):
    """One row of ensembles.csv: the first `size` members of one ensemble."""

    FILE: ClassVar[str] = "ensembles.csv"
    FIXED: ClassVar[tuple[str, ...]] = ("n",)
    size: int

    def __post_init__(self) -> None:
        super().__post_init__()
        require_plausible(self, positive=("size",))

    @property
    def key(self) -> Any:
        return *super().key, self.size
