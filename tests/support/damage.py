"""Damage to files, and the contract of reading them: a result, or one line that says why not."""

import random
import signal
import warnings
from collections import deque
from contextlib import contextmanager

from hypothesis import strategies as st

from elmlda.errors import ElmldaError

SECONDS = 20
"""A deadline for one input: far beyond what any takes, far below a hang."""


REFUSALS: deque[str] = deque(maxlen=10)
"""What was refused last, for those who want to know whether something was."""


@contextmanager
def within(seconds=SECONDS):
    """Fail what takes longer, also if it never ends."""

    def stop(*_):
        raise AssertionError(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def read_or_refuse(read, *arguments):
    """What is read, or None if it is refused as it should be; anything else is an exception."""
    with within(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return read(*arguments)
        except ElmldaError as error:
            message = str(error)
            assert message, "refused without a word"
            assert len(message) < 3000, message[:300]
            REFUSALS.append(message)
            return None


def damage(content, rng):
    """Content with one to three random edits: of bits, bytes, blocks or lines."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        content = rng.choice(EDITS)(content, rng)
    return content


def _flip(content, rng):
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _replace(content, rng):
    if not content:
        return content
    at = rng.randrange(len(content))
    byte = rng.choice((rng.randrange(256), rng.choice(b"0123456789,.-\n\r\"'eE{}[]: \0\xff")))
    return content[:at] + bytes([byte]) + content[at + 1 :]


def _insert(content, rng):
    at = rng.randrange(len(content) + 1)
    new = rng.choice((rng.randbytes(rng.randrange(1, 9)), rng.choice(WORDS)))
    return content[:at] + new + content[at:]


def _cut_off(content, rng):
    return content[: rng.randrange(len(content) + 1)]


def _cut_out(content, rng):
    at = rng.randrange(len(content) + 1)
    return content[:at] + content[at + rng.choice((1, 2, 4, 16, 100)) :]


def _repeat_block(content, rng):
    at, size = rng.randrange(len(content) + 1), rng.choice((1, 2, 4, 16, 100))
    return content[: at + size] + content[at:]


def _swap_lines(content, rng):
    lines = content.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    return b"\n".join(lines)


def _double_line(content, rng):
    lines = content.split(b"\n")
    lines.insert(rng.randrange(len(lines) + 1), rng.choice(lines))
    return b"\n".join(lines)


def _drop_line(content, rng):
    lines = content.split(b"\n")
    del lines[rng.randrange(len(lines))]
    return b"\n".join(lines)


WORDS = (
    b"nan",
    b"inf",
    b"-1",
    b"1e999",
    b"9" * 30,
    b"\n",
    b"\r\n",
    b",",
    b'"',
    b"\0" * 16,
    b"\xff" * 4,
)
EDITS = (
    _flip, _replace, _insert, _cut_off, _cut_out, _repeat_block, _swap_lines, _double_line, _drop_line,
)  # fmt: skip


def damaged(*contents):
    """Strategy: one of the contents, damaged; now and then anything at all."""

    def make(choice, seed):
        return damage(contents[choice], random.Random(seed))

    edited = st.builds(make, st.integers(0, len(contents) - 1), st.integers(0, 2**32))
    return st.one_of(edited, edited, edited, st.binary(max_size=300))
