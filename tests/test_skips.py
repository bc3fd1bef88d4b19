"""The guard against tests that never run, tested."""

from pathlib import Path

import pytest

GUARD = Path(__file__).with_name("conftest.py").read_text()


@pytest.mark.parametrize("reason, verdict", [("needs fork", 0), ("I do not like it", 1)])
def test_only_listed_reasons_may_skip(pytester, reason, verdict):
    pytester.makeconftest(GUARD)
    pytester.makepyfile(f"import pytest\ndef test_it(): pytest.skip({reason!r})")
    assert pytester.runpytest_subprocess("-p", "no:randomly").ret == verdict


def test_a_file_that_is_skipped_counts_too(pytester):
    pytester.makeconftest(GUARD)
    pytester.makepyfile("import pytest\npytest.importorskip('no_such_module')\ndef test_it(): pass")
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    assert result.ret != 0
    result.stdout.fnmatch_lines(["*does not list*"])
