"""What elmlda refuses, and how it says so: in one line."""

import pytest

from elmlda.errors import ElmldaError


def refusal_of(call, *arguments, **options):
    """The message of the ElmldaError that a call ends with."""
    with pytest.raises(ElmldaError) as caught:
        call(*arguments, **options)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


def refusal_of_file(read, path, *arguments):
    """What is said of a file that cannot be read, after its name: `: empty.`, `, line 3: empty.`"""
    message = refusal_of(read, path, *arguments)
    assert message.startswith((f"{path}: ", f"{path}, "))
    assert message.endswith(".")
    return message.removeprefix(str(path))
