"""The one exception that elmlda raises on purpose."""


class ElmldaError(Exception):
    """Something a user can mend; the CLI shows it in one line."""
