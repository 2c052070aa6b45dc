"""Downloads from mirrors and copies from the user's folder: each file whole or not at all."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError

FOLDER_VARIABLE = "ELMLDA_DATA"
CONNECT_SECONDS, READ_SECONDS = 10, 30
CHUNK_BYTES = 1 << 16

ProgressBar = Callable[[str], Any]
"""File name -> an object with `total`, `update`, `reset` and `close`, such as tqdm's; not false."""


@dataclass(frozen=True)
class RemoteFile:
    """A file as mirrors have it, by the same name on each."""

    name: str
    sha256: str
    """Of the file as mirrors send it, compressed."""
    content_sha256: str | None = None
    """Of its content, which a copy with another gzip header has, too; None if it is not known."""


def find_data_folder() -> Path:
    """The folder of what was fetched: $ELMLDA_DATA, else the user's cache."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder).expanduser()
    import pooch  # not at the top: it takes as long to import as `elmlda --help` takes to answer

    return Path(pooch.os_cache("elmlda"))


def download(
    name: str, file: RemoteFile, mirrors: Iterable[str], folder: Path, progress: ProgressBar | None
) -> str:
    """Try the mirrors in turn for a file of the set `name`; return the one that gave it."""
    import pooch
    from requests.exceptions import RequestException

    failures = []
    for mirror in mirrors:
        bar = progress(file.name) if progress else None
        downloader = pooch.HTTPDownloader(
            progressbar=bar or False,
            chunk_size=CHUNK_BYTES,
            timeout=(CONNECT_SECONDS, READ_SECONDS),
        )
        try:
            with explain_storing(folder), _quiet_pooch():
                # Into a temporary file, which is moved here if it has the checksum.
                pooch.retrieve(
                    mirror + file.name,
                    known_hash=f"sha256:{file.sha256}",
                    fname=file.name,
                    path=folder,
                    downloader=downloader,
                )
            return mirror
        except (RequestException, ValueError) as error:
            failures.append(f"{mirror}: {_explain_failure(error)}")
        finally:
            if bar is not None:
                bar.close()
    raise ElmldaError(
        f"{name}: {file.name} could not be fetched ({'; '.join(failures)}).",
        "Try again later or, if you have the files, name their folder with {from_}.",
        from_=None,
    )


def copy_whole(source: Path, target: Path) -> None:
    """Copy beside the target and move it there, so that it is never half."""
    descriptor, temporary = tempfile.mkstemp(dir=target.parent, prefix=".elmlda-")
    try:
        with os.fdopen(descriptor, "wb") as out, source.open("rb") as file:
            shutil.copyfileobj(file, out)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def explain_storing(folder: Path) -> Iterator[None]:
    """Turn the system's refusal to store a file into an error that says what to do."""
    try:
        yield
    except OSError as error:
        from requests.exceptions import RequestException

        if isinstance(error, RequestException):  # they are OSErrors too, but of the network
            raise
        raise ElmldaError(
            f"{folder}: cannot be written: {error.strerror or error}. "
            f"Set {FOLDER_VARIABLE} to a folder that can."
        ) from error


@contextlib.contextmanager
def _quiet_pooch() -> Iterator[None]:
    """Without pooch's log: the command line says what was done."""
    import pooch

    logger = pooch.get_logger()
    level = logger.level
    logger.setLevel("ERROR")
    try:
        yield
    finally:
        logger.setLevel(level)


def _explain_failure(error: Exception) -> str:
    """Why a mirror did not give a file, in a few words."""
    from requests import exceptions

    if isinstance(error, exceptions.HTTPError) and error.response is not None:
        return f"answers {error.response.status_code} {error.response.reason}"
    reasons = {
        exceptions.Timeout: "no answer in time",
        exceptions.SSLError: "its certificate is not trusted",
        exceptions.ConnectionError: "no connection",
        exceptions.RequestException: f"the download broke off ({type(error).__name__})",
        Exception: "what it sends does not have the checksum",
    }
    return next(reason for kind, reason in reasons.items() if isinstance(error, kind))
