"""A run's folder, locked by one process: nothing is written if the folder was replaced meanwhile."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from elmlda.errors import ElmldaError
from elmlda.runs.files import LOCK, explain_refusal, find_left_overs, lock_folder, sync_folder
from elmlda.runs.manifest import Entry, write_manifest
from elmlda.runs.records import RecordFile, open_records

Record = TypeVar("Record")


class Run:
    """A run's folder, locked for writing; it is made if it does not exist."""

    def __init__(self, folder: Path, entry: Entry) -> None:
        self.folder = folder
        self._entry = entry
        self._manifest: Mapping[str, Any] = {}
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
            self._manifest = write_manifest(self.folder, self._entry)
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

    def records(self, record_type: type[Record]) -> RecordFile[Record]:
        """The folder's file of such records, ready to be added to."""
        file = open_records(self.folder, self._manifest, record_type, self._refuse_if_replaced)
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
