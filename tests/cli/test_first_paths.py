"""The first paths of a new user, each by the commands of README and `docs/start.md` alone.

A path is a list of command lines; how many it takes is written beside it, and must not grow.
"""

import re
import shlex
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

import smfeval
from smfeval.cli.demo import honest_estimate, simulate_walk
from smfeval.io.convention import CONVENTIONS, from_right
from smfeval.maths import so3
from smfeval.summarise.numbers import NUMBERS
from support.bags import Bag
from support.commands import refused, run
from support.logs import ulog

WIDTH = 100  # columns of a report
SCANS = 600
START_NS = 1_700_000_000 * 10**9
JUNK = {"empty": b"", "text": b"Dear diary,\ntoday we drove.\n", "binary": bytes(range(256)) * 8}


@pytest.fixture(scope="module")
def walk():
    """The truth, and two estimates of it that report right covariances."""
    rng = np.random.default_rng(5)
    truth, _ = simulate_walk(rng=rng)
    return truth[:SCANS], *(honest_estimate(truth, rng=rng)[:SCANS] for _ in range(2))


@pytest.fixture
def path(tmp_path, monkeypatch, capsys):
    """Walk a path in an empty folder: the outputs of its commands, each of which must succeed."""
    monkeypatch.chdir(tmp_path)

    def follow(*lines, commands):
        assert len(lines) <= commands
        outputs = []
        for line in lines:
            verb, *rest = shlex.split(line)
            assert verb == "smfeval"
            outcome = run(capsys, *rest)
            assert outcome.code == 0, outcome
            outputs.append(outcome.out)
        return outputs

    return follow


def narrow(text):
    """Whether lines are short; a doubt with its remedies and the setup are shown whole."""
    lines = [line for line in text.splitlines() if not line.startswith(("  doubt", "  setup"))]
    return max(map(len, lines)) <= WIDTH


def next_commands(text):
    return [line.removeprefix("next: ") for line in text.splitlines() if line.startswith("next: ")]


def write_tum(file, track, covariance=None):
    """Rows as a user's own script writes them: seconds, position, quaternion, 21 numbers."""
    seconds = (START_NS + track.stamp) / 1e9
    columns = [seconds[:, None], track.position, track.rotation]
    if covariance is not None:
        columns.append(covariance[:, *np.tril_indices(6)])
    np.savetxt(
        file, np.hstack(columns), fmt=["%.6f", *["%.9g"] * (np.hstack(columns).shape[1] - 1)]
    )


class TestTumPairToTable:
    COMMANDS = 2

    def test_a_verdict_and_then_tables(self, path, walk):
        truth, estimate, _ = walk
        write_tum("ref.tum", truth)
        write_tum("est.tum", estimate, estimate.covariance / 25)
        verdict, _ = path(
            "smfeval score est.tum --ref ref.tum",
            "smfeval score est.tum --ref ref.tum --save table.csv --save table.tex --save table.md",
            commands=self.COMMANDS,
        )
        assert verdict.startswith("OVERCONFIDENT  position errors are ")
        assert narrow(verdict)
        assert Path("table.csv").read_text().splitlines()[1].startswith("est.tum,ref.tum,overconf")
        assert "est.tum & overconfident & 600 &" in Path("table.tex").read_text()
        assert "| est.tum | overconfident | 600 |" in Path("table.md").read_text()

    def test_two_files_of_which_one_has_no_covariance_ask_for_the_reference(
        self, path, walk, capsys
    ):
        write_tum("ref.tum", walk[0])
        write_tum("est.tum", walk[1], walk[1].covariance)
        assert "without a reference (--ref)" in refused(capsys, "score", "est.tum", "ref.tum")
        Path("notes.txt").write_text("today we drove\n")
        assert "TUM has 8, stamp x y z qx qy qz qw" in refused(capsys, "check", "notes.txt")
        assert "are they exchanged?" in refused(capsys, "score", "ref.tum", "--ref", "est.tum")


def odometry_bag(kind, walk):
    """Two topics of odometry, the second 25 times too confident, and a ground truth."""
    truth, *estimates = walk
    ros = CONVENTIONS["ros"]
    bag = Bag(kind, Path.cwd())
    for topic, track, factor in zip(("/ekf", "/lio/odometry"), estimates, (1, 25), strict=True):
        pose = (track.position, track.rotation)
        covariance = from_right(track.covariance, pose, ros, "translation-first") / factor
        for stamp, seven, matrix in zip(track.stamp, np.hstack(pose), covariance, strict=True):
            bag.add(topic, bag.odometry(START_NS + int(stamp), seven, matrix, "odom", "base_link"))
    for stamp, seven in zip(truth.stamp, np.hstack([truth.position, truth.rotation]), strict=True):
        header = bag.header(START_NS + int(stamp), "map")
        kind_of = "geometry_msgs/msg/PoseStamped"
        bag.add("/ground_truth", bag.make(kind_of, header=header, pose=bag.pose(seven)))
    return bag.write().name


@pytest.mark.parametrize("kind", ["mcap", "db3", "bag"])
class TestBagToVerdict:
    COMMANDS = 2

    def test_check_says_what_to_type_with_the_reference_of_the_bag(self, path, walk, kind):
        name = odometry_bag(kind, walk)
        (listed,) = path(f"smfeval check {name}", commands=self.COMMANDS - 1)
        score, pair = next_commands(listed)
        assert score == f"smfeval score {name}:/ekf --ref {name}:/ground_truth"
        assert pair == f"smfeval pair {name}:/ekf {name}:/lio/odometry"
        assert narrow(listed)

        (report,) = path(score.replace("ekf", "lio/odometry"), commands=self.COMMANDS - 1)
        assert report.startswith("OVERCONFIDENT  position errors are ")
        assert narrow(report)

    def test_two_topics_need_no_reference(self, path, walk, kind):
        name = odometry_bag(kind, walk)
        listed, pair = path(
            f"smfeval score {name}",
            f"smfeval score {name}:/lio/odometry {name}:/ekf",
            commands=self.COMMANDS,
        )
        assert "covariance filled" in listed
        assert pair.startswith("OVERCONFIDENT  at least one of lio/odometry and ekf")


def test_a_bag_without_a_topic_is_refused_with_those_to_name(path, walk, capsys):
    write_tum("ref.tum", walk[0])
    name = odometry_bag("mcap", walk)
    for sources in ((name, "ref.tum"), ("ref.tum", name)):
        sentence = refused(capsys, "score", sources[0], "--ref", sources[1])
        assert f"{name}:/lio/odometry (covariance filled)" in sentence
        assert "\\n" not in sentence
    assert "there is no topic /truth; near it: /ground_truth" in refused(
        capsys, "score", f"{name}:/ekf", "--ref", f"{name}:/truth"
    )


@pytest.mark.parametrize("bag", ["fuse_turtlebot3.bag", "robot_localization_test2_jackal.bag"])
def test_real_bags_say_what_to_type(path, shared_data, bag):
    (listed,) = path(f"smfeval check {shared_data / 'bags' / bag}", commands=1)
    (score,) = next_commands(listed)
    estimate = shlex.split(score)[2]
    (examined,) = path(f"smfeval check {estimate}", commands=1)
    (score,) = next_commands(examined)
    (report,) = path(score.replace("REF", estimate), commands=1)
    assert "CANNOT TELL  at least half of the errors are zero" in report


class TestArraysToVerdict:
    STATEMENTS = 4  # two tracks, the evaluation, the print

    @pytest.fixture
    def arrays(self, walk):
        truth, estimate, _ = walk
        poses = {}
        for name, track in (("truth", truth), ("poses", estimate)):
            poses[name] = np.tile(np.eye(4), (SCANS, 1, 1))
            poses[name][:, :3, :3] = so3.matrix(track.rotation)
            poses[name][:, :3, 3] = track.position
        return {"seconds": truth.stamp / 1e9, "covariance": estimate.covariance / 25, **poses}

    def test_matrices_and_seconds_become_the_report(self, arrays, capsys):
        lines = """
            estimate = smfeval.from_arrays(seconds, poses, covariance)
            reference = smfeval.from_arrays(seconds, truth)
            evaluation = smfeval.evaluate(estimate, reference)
            print(evaluation)
        """
        statements = dedent(lines).strip()
        assert len(statements.splitlines()) <= self.STATEMENTS
        exec(statements, {"smfeval": smfeval, **arrays})
        printed = capsys.readouterr().out
        assert printed.startswith("OVERCONFIDENT  position errors are ")
        assert "rotation  overconfident" in printed
        assert narrow(printed)

    def test_arrays_give_what_files_give(self, path, arrays, walk):
        truth, estimate, _ = walk
        write_tum("ref.tum", truth)
        write_tum("est.tum", estimate, arrays["covariance"])
        belief = smfeval.from_arrays(
            arrays["seconds"] + START_NS / 1e9, arrays["poses"], arrays["covariance"]
        )
        own, file = smfeval.evaluate(belief, "ref.tum"), smfeval.evaluate("est.tum", "ref.tum")
        numbers = [list(each.summary().items())[1:] for each in (own, file)]
        assert dict(numbers[0]) == pytest.approx(dict(numbers[1]), rel=1e-4)
        assert all(name in NUMBERS for name, _ in numbers[0])
        assert str(own).splitlines()[0] == str(file).splitlines()[0]

    @pytest.mark.parametrize(
        ("changed", "sentence"),
        [
            ({"poses": lambda a: a.swapaxes(1, 2)}, "last row is not 0 0 0 1 (is it transposed?)"),
            ({"poses": lambda a: a * [1, 1, -1, 1]}, "upper left 3x3 is no rotation"),
            ({"poses": lambda a: a[:-1]}, "pose has shape (599, 4, 4); for 600 stamps (600, 4, 4)"),
            ({"covariance": lambda a: a[:, 0]}, "(600, 6, 6) is needed, or (600, 3, 3) or ("),
            ({"seconds": lambda a: a * 1e9 + 1e18}, "stamps as floats are seconds"),
            ({"poses": lambda a: "est.tum"}, "pose is no array of numbers"),
        ],
    )
    def test_arrays_that_are_wrong_are_refused_in_one_sentence(self, arrays, changed, sentence):
        given = arrays | {name: change(arrays[name]) for name, change in changed.items()}
        with pytest.raises(smfeval.TrackError, match=re.escape(sentence)):
            smfeval.from_arrays(given["seconds"], given["poses"], given["covariance"])

    def test_arrays_in_place_of_a_track_are_paired_row_by_row(self, arrays):
        found = smfeval.evaluate(
            arrays["poses"], arrays["truth"], covariance=arrays["covariance"],
            time=arrays["seconds"], align="none",
        )  # fmt: skip
        tracks = (
            smfeval.from_arrays(arrays["seconds"], arrays["poses"], arrays["covariance"]),
            smfeval.from_arrays(arrays["seconds"], arrays["truth"]),
        )
        assert found.summary() == smfeval.evaluate(*tracks, align="none").summary()
        with pytest.raises(smfeval.OptionError, match="from_arrays"):
            smfeval.pair(arrays["poses"], arrays["truth"])

    def test_a_covariance_of_positions_is_scored_alone(self, arrays):
        position = so3.rotate_covariance(
            so3.quaternion(arrays["poses"][:, :3, :3]), arrays["covariance"][:, :3, :3]
        )
        reference = smfeval.from_arrays(arrays["seconds"], arrays["truth"])
        whole, alone = (
            smfeval.evaluate(smfeval.from_arrays(arrays["seconds"], poses, matrices), reference,
                             align="none")
            for poses, matrices in ((arrays["poses"], arrays["covariance"]),
                                    (arrays["poses"], position))
        )  # fmt: skip
        assert alone.rotation is None
        assert alone["k"].value == pytest.approx(whole["k"].value, rel=1e-9)


class TestULogToVerdict:
    COMMANDS = 2

    def test_check_names_the_truth_of_a_simulated_flight(self, path):
        truth = np.column_stack([np.linspace(0, 90, 600), np.zeros((600, 2))])
        write_flight(Path("flight.ulg"), truth, np.random.default_rng(2))
        (examined,) = path("smfeval check flight.ulg", commands=self.COMMANDS - 1)
        (score,) = next_commands(examined)
        assert score == "smfeval score flight.ulg --ref flight.ulg:truth"
        (report,) = path(score, commands=self.COMMANDS - 1)
        assert report.startswith("CONSISTENT  the reported sigma fits within a factor ")
        assert narrow(report)

    @pytest.mark.parametrize(
        ("log", "reference"),
        [("sample_logging_tagged_and_default_params.ulg", ":truth"),
         ("sample_log_small.ulg", "REF")],
    )  # fmt: skip
    def test_real_logs_say_what_to_type(self, path, shared_data, log, reference):
        source = shared_data / "px4" / log
        (examined,) = path(f"smfeval check {source}", commands=self.COMMANDS - 1)
        (score,) = next_commands(examined)
        assert score.endswith(reference)
        if reference != "REF":
            (report,) = path(score, commands=self.COMMANDS - 1)
            assert narrow(report)


def write_flight(file, position, rng):
    """A log of EKF2 with the truth of the simulation, north-east-down; sigmas as reported."""
    n = len(position)
    sigma = np.array([0.05, 0.05, 0.08])
    time_us = 2_000_000 + 100_000 * np.arange(n)
    times = {"timestamp": time_us, "timestamp_sample": time_us}
    states, variance = np.zeros((n, 24)), np.full((n, 23), 1e-3)
    states[:, 0] = 1
    states[:, 7:10] = position + sigma * rng.normal(size=(n, 3))
    variance[:, 6:9] = sigma**2 * (1 + 0.1 * np.sin(np.arange(n) / 30))[:, None]
    attitude = np.tile([1.0, 0, 0, 0], (n, 1))
    topics = {
        ("estimator_states", 0): times
        | {"states": states, "n_states": np.full(n, 24), "covariances": variance},
        ("vehicle_local_position_groundtruth", 0): {
            "timestamp": time_us, **dict(zip("xyz", position.T, strict=True))
        },
        ("vehicle_attitude_groundtruth", 0): {"timestamp": time_us, "q": attitude},
    }  # fmt: skip
    return ulog(file, topics)


class TestFolderToPaperTable:
    COMMANDS = 1
    TRACKS, PART = 7, 150

    @pytest.fixture(autouse=True)
    def _one_process(self, monkeypatch):
        """`tests/cli/test_study.py` starts several."""
        monkeypatch.setattr("smfeval.studies.workers.usable_cores", lambda: 1)

    def lay_out(self, place):
        """Estimates and references of some tracks, each where `place(track, name)` says."""
        truth, _ = simulate_walk(rng=np.random.default_rng(8))
        for number in range(self.TRACKS):
            part = slice(self.PART * number, self.PART * (number + 1))
            rng = np.random.default_rng(number)
            beliefs = {name: honest_estimate(truth, rng=rng)[part] for name in ("lio", "vio")}
            for name, track in {"reference": truth[part], **beliefs}.items():
                file = Path(place(f"walk_{number}", name))
                file.parent.mkdir(parents=True, exist_ok=True)
                factor = {"lio": 1, "vio": 16}.get(name)
                write_tum(file, track, track.covariance / factor if factor else None)

    @pytest.mark.parametrize(
        "place",
        [
            lambda track, name: f"runs/{track}/{name}.txt",
            lambda track, name: f"runs/{'truth' if name == 'reference' else name}/{track}.tum",
        ],
    )
    def test_a_folder_becomes_tables_in_one_command(self, path, place):
        self.lay_out(place)
        line = "smfeval study runs --save paper.tex --save paper.md"
        (printed,) = path(line, commands=self.COMMANDS)
        assert printed.startswith("runs: 2 estimators, 7 tracks, 14 runs")
        assert narrow(printed)
        assert r"\begin{tabular}" in Path("paper.tex").read_text()
        rows = [row for row in Path("paper.md").read_text().splitlines() if row.startswith("| ")]
        assert [row.split(" | ")[0] for row in rows[2:4]] == ["| lio", "| vio"]
        again, edited = path("smfeval study runs", "smfeval study study.toml", commands=2)
        assert again == edited == printed

    def test_a_plan_that_was_edited_is_not_overwritten(self, path, capsys):
        self.lay_out(lambda track, name: f"runs/{track}/{name}.txt")
        Path("study.toml").write_text("name = 'mine'\n")
        assert "study.toml is there and is not what would be" in refused(capsys, "study", "runs")
        assert Path("study.toml").read_text() == "name = 'mine'\n"

    def test_real_runs_become_tables(self, path, shared_data, tmp_path):
        source = shared_data / "campaign" / "easy"
        for track in ("college_1", "college_2"):
            (Path("runs") / track).mkdir(parents=True)
            for name in ("reference.tum.gz", "fastlio2.txt.gz"):
                (Path("runs") / track / name).symlink_to(source / track / name)
        (printed,) = path("smfeval study runs --save paper.tex", commands=self.COMMANDS)
        assert "fastlio2" in Path("paper.tex").read_text()
        assert narrow(printed)


@pytest.mark.parametrize("junk", [*JUNK, "folder"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("est.tum", "score est.tum --ref ref.tum"),
        ("ref.tum", "score est.tum --ref ref.tum"),
        ("run.bag", "score run.bag --ref ref.tum"),
        ("run.mcap", "check run.mcap"),
        ("run.db3", "check run.db3"),
        ("run.mcap", "score run.mcap:/ekf run.mcap:/lio"),
        ("flight.ulg", "check flight.ulg"),
        ("flight.ulg", "score flight.ulg --ref flight.ulg:truth"),
        ("study.toml", "study study.toml"),
    ],
)
def test_junk_is_refused_in_one_sentence(path, walk, capsys, junk, name, words):
    """`refused` asks for exit code 2, one line on stderr, nothing on stdout."""
    write_tum("est.tum", walk[1][:20], walk[1][:20].covariance)
    write_tum("ref.tum", walk[0][:20])
    if name.endswith(".tum"):
        Path(name).unlink()
    if junk == "folder":
        Path(name).mkdir()
    else:
        Path(name).write_bytes(JUNK[junk])
    assert name in refused(capsys, *words.split())
