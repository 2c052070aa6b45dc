"""elmlda as a command and as python -m elmlda: light, so that Ctrl-C is heard from the first moment."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn


def main() -> None:
    """Run the command line."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)
    from elmlda.cli import main as run  # which listens to signals itself

    run()


def _stop(number: int, _: FrameType | None) -> NoReturn:
    os.write(2, b"Stopped. Run the same command again.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
