"""Inputs by URL: in memory, and from a server on this machine."""

import http.server
import os
import re
import threading
from functools import partial
from pathlib import Path

import fsspec
import numpy as np
import pytest

from smfeval.errors import FormatError, SmfevalError
from smfeval.evaluation import Options
from smfeval.io import read, remote, write
from smfeval.studies.task import Input, Task, task_key
from smfeval.summarise.number import Intervals
from support.beliefs import gaussian, poses, with_cross
from support.commands import refused, run
from support.study_folders import FAST, HERE, entered, planned
from support.study_plans import files_below

N = 40


@pytest.fixture(autouse=True)
def kept(tmp_path_factory, monkeypatch):
    """A folder of copies of its own, and nothing known before."""
    folder = tmp_path_factory.mktemp("kept")
    monkeypatch.setenv(remote.FOLDER, str(folder))
    monkeypatch.setitem(remote.SCHEMES, "memory", "fsspec")  # a store without a server
    remote.forget_copies()
    return folder / "remote"


@pytest.fixture
def memory():
    """An object store in memory, empty before and after."""
    store = fsspec.filesystem("memory")
    store.store.clear()
    yield store
    store.store.clear()


@pytest.fixture
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    track = gaussian(N, rng)
    write(track, "a.square")
    write(track, "truth.tum", lossy=True)
    write(track, "a.mcap")
    return tmp_path


class Server(http.server.SimpleHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012  of all requests

    def log_message(self, text, *words):
        self.asked.append(text % words)

    def do_GET(self):
        if self.path.startswith("/secret"):
            self.send_error(403)
        else:
            super().do_GET()

    do_HEAD_plain = http.server.SimpleHTTPRequestHandler.do_HEAD

    def do_HEAD(self):
        if self.path.startswith("/secret"):
            self.send_error(403)
        else:
            self.do_HEAD_plain()


@pytest.fixture
def site(folder):
    """Address of a server of the folder; `Server.asked` are the requests."""
    Server.asked.clear()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Server, directory=str(folder))
    )
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def upload(memory, *names: str, to: str = "runs") -> None:
    for name in names:
        memory.pipe_file(f"/{to}/{name}", Path(name).read_bytes())


def test_a_track_in_a_store_is_the_track_on_the_disk(folder, memory):
    upload(memory, "a.square", "a.mcap")
    there, here = read("memory://runs/a.square"), read("a.square")
    np.testing.assert_array_equal(there.covariance, here.covariance)
    assert there.provenance.name == "memory://runs/a.square"
    bag = read("memory://runs/a.mcap:/pose")
    np.testing.assert_array_equal(bag.stamp, here.stamp)
    assert bag.provenance.name == "memory://runs/a.mcap:/pose"
    with pytest.raises(
        SmfevalError, match=r"^memory://runs/a\.mcap: there is no topic /other"
    ) as said:
        read("memory://runs/a.mcap:/other")
    assert "smfeval-" not in str(said.value)  # the copy is not named


def test_files_beside_it_are_found_beside_the_url(folder, memory, rng):
    crossed, _ = with_cross(gaussian(N, rng), rng)
    write(crossed, "b.square")
    write(poses(N, rng), "c.kitti")
    assert Path("b.cross").exists()
    upload(memory, "b.square", "b.cross", "c.kitti", "c.times.txt")
    found = read("memory://runs/b.square")
    np.testing.assert_array_equal(found.cross.block, read("b.square").cross.block)
    np.testing.assert_array_equal(read("memory://runs/c.kitti").stamp, read("c.kitti").stamp)
    memory.rm("/runs/c.times.txt")
    remote.forget_copies()
    (note,) = read("memory://runs/c.kitti").provenance.notes
    assert note.startswith("memory://runs/c.kitti: KITTI poses carry no stamps")
    upload(memory, "c.times.txt", to="elsewhere")
    named = read("memory://runs/c.kitti", times="memory://elsewhere/c.times.txt")
    np.testing.assert_array_equal(named.stamp, read("c.kitti").stamp)


def test_a_server_is_asked_once_for_the_bytes_of_a_version(folder, site, kept):
    track = read(f"{site}/a.square")
    np.testing.assert_array_equal(track.position, read("a.square").position)
    gets = [line for line in Server.asked if '"GET /a.square' in line]
    assert len(gets) == 1
    remote.forget_copies()
    read(f"{site}/a.square")  # another run: the version is asked for, the bytes are there
    assert [line for line in Server.asked if '"GET /a.square' in line] == gets
    assert len(list(kept.iterdir())) == 1


def test_bytes_that_changed_are_fetched_again(folder, memory, rng):
    upload(memory, "a.square")
    before = read("memory://runs/a.square")
    write(gaussian(N + 1, rng), "a.square")
    memory.rm("/runs/a.square")
    upload(memory, "a.square")
    assert len(read("memory://runs/a.square")) == len(before)  # the same within a run
    remote.forget_copies()
    assert len(read("memory://runs/a.square")) == N + 1


def test_score_pair_check_and_convert_take_urls(folder, site, memory, capsys):
    upload(memory, "a.square")
    url, truth = "memory://runs/a.square", f"{site}/truth.tum"
    there = run(capsys, "score", url, "--ref", truth, "--json")
    here = run(capsys, "score", "a.square", "--ref", "truth.tum", "--json")
    assert there.code == 0
    named = there.out.replace("memory://runs/a.square", "a.square").replace(truth, "truth.tum")
    assert named == here.out
    assert run(capsys, "pair", url, f"{site}/a.mcap:/pose", "-q").code == 0
    assert "/pose" in run(capsys, "check", f"{site}/a.mcap").out
    assert run(capsys, "convert", f"{site}/a.square", "b.parquet", "-q").code == 0
    np.testing.assert_array_equal(read("b.parquet").covariance, read("a.square").covariance)


def test_extrinsics_may_be_urls(folder, site, capsys):
    Path("e.json").write_text('{"R": [1,0,0,0,1,0,0,0,1], "t": [1,2,3]}')
    told = [
        run(capsys, "score", "a.square", "--ref", "truth.tum", "--extrinsic", place, "--json").out
        for place in (f"{site}/e.json", "e.json", "1,2,3,0,0,0,1")
    ]
    assert told[0] == told[1] == told[2] != ""
    said = refused(
        capsys, "score", "a.square", "--ref", "truth.tum", "--extrinsic", f"{site}/none.json"
    )
    assert f"{site}/none.json: there is no such file" in said


def test_a_task_knows_the_bytes_of_an_extrinsic_by_url(folder, memory):
    options = Options(intervals=Intervals(method=None))
    keys = []
    for shift in (0, 1, 0):
        memory.pipe_file("/e.json", b'{"R": [1,0,0,0,1,0,0,0,1], "t": [%d,0,0]}' % shift)
        remote.forget_copies()
        inputs = Input("a.square"), Input("truth.tum")
        keys.append(task_key(Task("e", "all", "t", 0, *inputs, "memory://e.json", options)))
    assert keys[0] == keys[2] != keys[1]


REFUSED = [
    ("memory://runs/nothing.square", "memory://runs/nothing.square: there is no such file"),
    ("SITE/nothing.square", "/nothing.square: there is no such file"),
    ("SITE/secret.square", "/secret.square: cannot be read (403"),
    ("http://127.0.0.1:9/a.square", "http://127.0.0.1:9/a.square: cannot be read ("),
    ("memory://runs", "memory://runs: this is a folder; a URL names one file"),
    ("wrong://a.square", "wrong://a.square: not opened; URLs are http://, https://, "),
    ("http://[::1", "'http://[::1': no URL (Invalid IPv6 URL)"),
    ("s3://[::1/a.square", "'s3://[::1/a.square': no URL (Invalid IPv6 URL)"),
]


@pytest.mark.parametrize(("url", "words"), REFUSED)
def test_what_cannot_be_had_is_one_sentence(url, words, folder, site, memory, capsys):
    upload(memory, "a.square")
    assert words in refused(capsys, "check", url.replace("SITE", site))


def test_a_pipe_by_url_is_refused_and_a_line_that_breaks_is_no_full_disk(
    folder, memory, capsys, monkeypatch
):
    os.mkfifo("pipe")
    said = refused(capsys, "check", (folder / "pipe").as_uri())
    assert "pipe: this is a pipe or a device; a file is needed" in said

    upload(memory, "a.square")

    def broken(self, place, target, callback):
        raise ConnectionResetError(104, "the line is broken")

    monkeypatch.setattr(type(memory), "get_file", broken)
    said = refused(capsys, "check", "memory://runs/a.square")
    assert "memory://runs/a.square: cannot be read (" in said
    assert "the line is broken" in said


def test_missing_packages_are_named(folder, capsys, monkeypatch):
    def absent(url, **options):
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr("fsspec.core.url_to_fs", absent)
    assert "s3:// needs s3fs" in refused(capsys, "check", "s3://bucket/a.square")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    said = refused(capsys, "check", "s3://bucket/a.square")
    assert 'pip install ".[remote]" in the checkout' in said


def test_the_limit_holds_for_what_is_told_and_for_what_comes(folder, site, memory, capsys, kept):
    upload(memory, "a.square")
    for url in ("memory://runs/a.square", f"{site}/a.square"):
        said = refused(capsys, "check", url, "--limit", "1kB")
        assert f"{url}: there are more than 1 kB in it, which is the limit (--limit" in said
    assert not any('"GET' in line for line in Server.asked)  # known before a byte is fetched
    assert run(capsys, "check", f"{site}/a.square", "--limit", "1MB", "-q").code == 0

    class Liar(type(memory)):
        def info(self, path, **more):
            return super().info(path, **more) | {"size": 1}

    remote.forget_copies()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(remote, "_system", lambda url: (Liar(), "/runs/a.square"))
        assert "more than 1 kB" in refused(capsys, "check", "memory://x/a.square", "--limit", "1kB")
    assert not [each for each in kept.iterdir() if each.name.startswith(".smfeval")]


def test_passwords_and_queries_are_not_shown(folder, site):
    host = site.removeprefix("http://")
    track = read(f"http://me:secret@{host}/a.square?token=abc")
    assert track.provenance.name == f"{site}/a.square"
    with pytest.raises(FormatError) as said:
        read(f"http://me:secret@{host}/none.square?token=abc")
    assert str(said.value) == f"{site}/none.square: there is no such file"


def test_a_study_of_urls_is_known_from_one_of_files(tmp_path, monkeypatch, memory, capsys):
    """Results are kept by what the files hold, wherever they are."""
    folder = entered(tmp_path, monkeypatch)
    assert run(capsys, "study", "study.toml", *HERE).code == 0
    for path in folder.glob("*/*.*"):
        if path.parent.name in ("truth", "good", "bold"):
            memory.pipe_file(f"/d/{path.parent.name}/{path.name}", path.read_bytes())
    remade = FAST.replace('"truth/', '"memory://d/truth/').replace('"bold/', '"memory://d/bold/')
    planned(folder, remade.replace("bold/{track}.square", "bold/{track}.sq*"))
    before = files_below(folder / "study_results")
    again = run(capsys, "study", "study.toml", *HERE)
    assert again.code == 0
    assert "4 of them known from an earlier run" in again.err
    after = files_below(folder / "study_results")
    same = {name for name in before if before[name] == after[name]}
    assert {"scans", "tables.md"} <= {name.split("/")[0] for name in map(str, same)}

    memory.rm("/d/bold/one.square")
    listed = run(capsys, "study", "study.toml", "--list")
    assert "bold" in listed.out
    gap = "bold has no file on 1 of 2 tracks: one"
    assert gap in run(capsys, "study", "study.toml", *HERE).err
    memory.rm("/d/truth/one.tum")
    assert "memory://d/truth/one.tum" in refused(capsys, "study", "study.toml", *HERE)


def test_only_a_few_schemes_are_opened_and_no_chains(folder, capsys, monkeypatch):
    monkeypatch.delitem(remote.SCHEMES, "memory")
    opened = []
    monkeypatch.setattr("fsspec.core.url_to_fs", opened.append)
    monkeypatch.setattr("fsspec.filesystem", opened.append)
    others = sorted({*fsspec.available_protocols()} - {*remote.SCHEMES})
    assert {"reference", "memory", "simplecache", "zip", "ssh"} <= {*others}
    chains = ["file://a.square::reference://evil.json", "http://h/a::zip://b", "S3://a::file://b"]
    urls = [f"{scheme}://a.square::evil.json" for scheme in others] + chains
    for url in [*urls, *(f"{scheme}://a.square" for scheme in others)]:
        with pytest.raises(FormatError, match=r"not opened; URLs are http://|no such file"):
            read(url)
    assert not opened


# fsspec before 2026.6 renders this by jinja2 when a `reference://` is opened.
EVIL = """{"version": 1, "templates": {}, "refs": {}, "gen": [{"url": "u",
"key": "{{ cycler.__init__.__globals__.os.system('touch ran') }}",
"dimensions": {"i": {"stop": 1}}}]}"""


def test_a_plan_runs_nothing(tmp_path, monkeypatch, capsys):
    folder = entered(tmp_path, monkeypatch)
    Path("evil.json").write_text(EVIL)
    for chain in ("reference://{track}::evil.json", "reference://{track}::file://evil.json"):
        planned(folder, FAST.replace("bold/{track}.square", chain))
        assert "not opened; URLs are" in refused(capsys, "study", "study.toml", *HERE)
    assert not Path("ran").exists()


def test_a_name_in_a_url_is_no_path(folder, site):
    (folder / "sub").mkdir()
    outside = folder / "victim.square"
    outside.write_text("mine")
    climbing = "..%2F" * 9 + str(outside).strip("/").replace("/", "%2F")
    assert remote.file_name(f"{site}/{climbing}") == "victim.square"
    assert remote.file_name("http://h/a/..") == remote.file_name("http://h/%2e%2e") == "h"
    with pytest.raises(FormatError):
        read(f"{site}/{climbing}")
    assert outside.read_text() == "mine"


class Liar(http.server.BaseHTTPRequestHandler):
    """A server that says one thing and sends another, as the first part of the path says."""

    whole = b""
    released = threading.Event()

    def log_message(self, text, *words):
        pass

    def do_HEAD(self):
        if self.path.endswith("/a.square"):
            self.answer(200, len(self.whole))
        else:
            self.send_error(404)

    def answer(self, status, size):
        self.send_response(status)
        self.send_header("ETag", '"one"')
        if size is not None:
            self.send_header("Content-Length", str(size))
        self.end_headers()

    def do_GET(self):
        cut = self.whole[: len(self.whole) // 2]
        how = self.path.split("/")[1]
        if not self.path.endswith("/a.square"):
            self.send_error(404)
        elif how == "silent":
            self.released.wait(20)
        elif how == "hangs":
            self.answer(200, len(self.whole))
            self.wfile.write(cut)
            self.wfile.flush()
            self.released.wait(20)
        elif how == "shorter":
            self.answer(200, len(cut))
            self.wfile.write(cut)
        elif how == "partial":
            self.answer(206, len(cut))
            self.wfile.write(cut)
        elif how == "closes":
            self.answer(200, None)
            self.wfile.write(cut)
        elif how == "breaks":
            self.answer(200, len(self.whole))
            self.wfile.write(cut)
        else:
            self.answer(200, len(self.whole))
            self.wfile.write(self.whole)


@pytest.fixture
def liar(folder, monkeypatch):
    monkeypatch.setattr(Liar, "whole", (folder / "a.square").read_bytes())
    monkeypatch.setattr(Liar, "released", threading.Event())
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    Liar.released.set()
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("shorter", "bytes came of the"),
        ("closes", "bytes came of the"),
        ("partial", "the server sent a part of the file, status 206"),
        ("breaks", "cannot be read ("),
        ("hangs", "no answer within 0.3 s"),
        ("silent", "no answer within 0.3 s"),
    ],
)
def test_a_download_that_is_cut_is_refused_and_not_kept(how, words, liar, kept, monkeypatch):
    monkeypatch.setattr(remote, "SILENCE_TIMEOUT_S", 0.3)
    with pytest.raises(FormatError, match=re.escape(words)):
        read(f"{liar}/{how}/a.square")
    assert not list(kept.glob("*"))
    assert len(read(f"{liar}/honest/a.square")) == N


def test_a_kept_copy_that_was_cut_is_fetched_again(folder, site, kept):
    read(f"{site}/a.square")
    (copy,) = kept.iterdir()
    copy.write_bytes(copy.read_bytes()[:-2000])
    remote.forget_copies()
    assert len(read(f"{site}/a.square")) == N
    assert len(list(kept.iterdir())) == 1


def test_a_host_may_be_an_address_of_version_6(folder):
    with pytest.raises(FormatError, match=r"^http://\[::1\]:9/a.square: cannot be read"):
        read("http://[::1]:9/a.square")
