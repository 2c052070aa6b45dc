"""Downloads from mirrors: each file whole and with its checksum, or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from elmlda.errors import ElmldaError

FOLDER_VARIABLE = "ELMLDA_DATA"
CONNECT_SECONDS, READ_SECONDS = 10, 30
CHUNK_BYTES = 1 << 16

ProgressBar = Callable[[str], Any]
"""File name -> an object with `total`, `update`, `reset` and `close`, such as tqdm's; not false."""


def find_data_folder() -> Path:
    """The folder of what was fetched: $ELMLDA_DATA, else the user's cache."""
    if folder := os.environ.get(FOLDER_VARIABLE):
        return Path(folder).expanduser()
    import pooch  # not at the top: it takes as long to import as `elmlda --help` takes to answer

    return Path(pooch.os_cache("elmlda"))


def download(
    name: str, sha256: str, mirrors: Iterable[str], folder: Path, progress: ProgressBar | None
) -> str:
    """Try the mirrors in turn for a file of the folder's set; return the one that gave it."""
    import pooch
    from requests.exceptions import RequestException

    failures = []
    for mirror in mirrors:
        with contextlib.ExitStack() as stack:
            bar = stack.enter_context(contextlib.closing(progress(name))) if progress else False
            logger = pooch.get_logger()  # silent: the command line says what was done
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel("ERROR")
            downloader = pooch.HTTPDownloader(
                progressbar=bar, chunk_size=CHUNK_BYTES, timeout=(CONNECT_SECONDS, READ_SECONDS)
            )
            try:
                with explain_storing(folder):
                    # Into a temporary file, which is moved here if it has the checksum.
                    pooch.retrieve(
                        mirror + name, f"sha256:{sha256}", name, folder, downloader=downloader
                    )
                return mirror
            except (RequestException, ValueError) as error:
                failures.append(f"{mirror}: {_explain_failure(error)}")
    raise ElmldaError(
        f"{folder.name}: {name} could not be fetched ({'; '.join(failures)}).",
        "Try again later or, if you have the files, name their folder with {from_}.",
        from_=None,
    )


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
