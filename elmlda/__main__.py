"""elmlda as a command and as python -m elmlda."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from elmlda.cli.stop import listen

    listen()  # before the imports below, which take a moment
    from elmlda.cli import main as run

    run()


if __name__ == "__main__":
    main()
