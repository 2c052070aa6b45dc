"""The list of commands that made a report."""

import pytest

from elmlda.reports.provenance import merge


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([], ""),
        (["ab", "cd"], "abcd"),
        (["c", "abc"], "abc"),
        (["ad", "abcd"], "abcd"),
        (["ab", "bc", "xb"], "axbc"),
        (["ab", "ba"], "ab"),
        (["ab", "bxa"], "xab"),
        (["aba"], "ab"),
    ],
)
def test_commands_of_several_runs_are_in_their_order(lists, expected):
    assert "".join(merge(lists)) == expected
