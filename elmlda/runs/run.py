"""A run's folder, held by one process: nothing is written into a folder that was replaced meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from elmlda.errors import ElmldaError
from elmlda.runs.files import LOCK, explain_refusal, find_left_overs, lock_folder, sync_folder
from elmlda.runs.manifest import as_json, write_manifest
from elmlda.runs.records import RecordFile

Record = TypeVar("Record")


class Run:
    """A run's folder, held by one process for writing.

    Parameters
    ----------
    folder : made if it does not exist
    experiment : name of the manifest's section for `grown`
    identity : what makes the run's networks what they are: must equal the folder's
    fixed : the experiment's own settings that must equal the folder's too
    grown : what may grow when a run goes on (the number of repeats, the list of sizes)
    machine : where this part of the run is computed, for the manifest
    """

    def __init__(
        self,
        folder: Path,
        experiment: str,
        identity: Mapping[str, Any],
        fixed: Mapping[str, Any],
        grown: Mapping[str, Any],
        machine: Mapping[str, Any],
    ) -> None:
        self.folder = folder
        self._experiment = experiment
        self._identity = as_json(identity)
        self._fixed = as_json(fixed)
        self._grown = as_json(grown)
        self._machine = as_json(machine)
        self._lock: IO[str] | None = None

    def __enter__(self) -> Self:
        with explain_refusal(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            sync_folder(self.folder.parent)
        self._lock = lock_folder(self.folder)
        try:
            with explain_refusal(self.folder):
                for left_over in find_left_overs(self.folder):
                    left_over.unlink()
            write_manifest(
                self.folder, self._experiment, self._identity, self._fixed, self._grown, self._machine
            )
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._lock:
            self._lock.close()

    def records(self, name: str, record_type: type[Record]) -> RecordFile[Record]:
        """The folder's file of such records, ready to be added to."""
        file = RecordFile(self.folder / name, record_type, self._refuse_if_replaced)
        file.repair()
        return file

    def _refuse_if_replaced(self) -> None:
        """Refuse to write where the lock is not this process's any more."""
        assert self._lock is not None
        path = self.folder / LOCK
        with suppress(OSError):
            if os.path.samestat(os.fstat(self._lock.fileno()), path.stat()):
                return
        raise ElmldaError(
            f"{path}: removed or replaced during the run, perhaps with its folder, so another elmlda "
            "may be writing there. Run the same command again to compute what the folder lacks."
        )
