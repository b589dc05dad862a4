"""The bar of a study on a terminal."""

import io
import sys
import threading

from smfeval.cli.progress import study_progress


class Terminal(io.StringIO):
    """A stream that says that somebody looks at it."""

    def isatty(self):
        return True


def test_a_bar_starts_no_thread_with_which_no_worker_could_be_forked(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    threads = threading.active_count()
    with study_progress() as hear:
        hear(0, 0, 2)
        assert threading.active_count() == threads
        hear(1, 0, 2)
        hear(2, 1, 2)
        shown = sys.stderr.getvalue()
    assert "0/2" in shown
    assert "2/2" in shown
    assert "1 failed" in shown
