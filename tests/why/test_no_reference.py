"""Findings without a reference: raised on what deserves them, hardly ever on consistent worlds."""

import json

import numpy as np
import pytest

from smfeval import About, GaussianTrack, examine
from smfeval.cli.main import main
from smfeval.maths import so3
from smfeval.why.causes import FINDINGS
from smfeval.why.no_reference import look
from support.kalman import remembering

N, DT, SPEED = 2000, 0.1, 2.0


def findings(track, counts=None):
    return look(track, counts)[0]


def drive(rng, n=N, *, lap_m=130.0, wobble=0.3):
    """A vehicle on a bent road of laps: positions (n, 3) and yaw (n,)."""
    way = SPEED * DT * np.arange(n)
    turn = 2 * np.pi * way / lap_m
    radius = lap_m / (2 * np.pi)
    bend = 0.2 * np.sin(3 * turn + rng.uniform(0, 6))
    x = radius * (1 + bend) * np.cos(turn)
    y = radius * (1 + bend) * np.sin(turn)
    z = wobble * np.sin(2 * turn)
    position = np.stack([x, y, z], axis=1)
    return position, turn + np.pi / 2


def belief(position, yaw, error, sigma, *, dt=DT, gauge=None, planar=False):
    """Positions with errors; sigma (n,) or (n, 3) is what is reported, in world axes."""
    n = len(position)
    sigma = np.broadcast_to(np.reshape(sigma, (n, -1)), (n, 3)).copy()
    rotation = so3.exp(np.stack([0 * yaw, 0 * yaw, yaw], axis=1))
    covariance = np.zeros((n, 6, 6))
    variance = sigma**2
    if planar:
        error, variance = error * [1, 1, 0], variance * [1, 1, 0]
        position = position * [1, 1, 0]
    turn = so3.matrix(rotation)
    covariance[:, :3, :3] = turn.swapaxes(1, 2) @ (variance[:, :, None] * np.eye(3)) @ turn
    covariance[:, 3:, 3:] = 1e-6 * np.eye(3) * (1 + variance[:, :1, None])
    stamp = np.round(1e9 * dt * np.arange(n)).astype(np.int64)
    return GaussianTrack(stamp, position + error, rotation, covariance, about=About(gauge=gauge))


def walk(rng, n=N, step=0.004):
    """A random walk, and its sigma."""
    error = np.cumsum(rng.normal(0, step, (n, 3)), axis=0)
    return error, step * np.sqrt(np.arange(1, n + 1))


def odometry(rng, **options):
    return belief(*drive(rng), *walk(rng), **options)


def turning_odometry(rng):
    """Errors of the heading carried along the way, with the covariance that follows."""
    position, yaw = drive(rng)
    slip, turn = 0.004, 3e-4
    step = np.diff(position, axis=0, prepend=position[:1])
    heading = np.cumsum(rng.normal(0, turn, N))
    across = np.stack([-step[:, 1], step[:, 0], 0 * yaw], axis=1)
    error = np.cumsum(rng.normal(0, slip, (N, 3)) + heading[:, None] * across, axis=0)
    # Cov = slip^2 t I + turn^2 sum_k d_k d_k^T, d_k: across the way from scan k on
    place = np.cumsum(across, axis=0)
    number = np.arange(1, N + 1)[:, None]
    square = number * place**2 - 2 * place * np.cumsum(place, axis=0) + np.cumsum(place**2, axis=0)
    variance = slip**2 * number + turn**2 * np.maximum(square, 0)
    return belief(position, yaw, error, np.sqrt(variance))


def mapped(rng, gauge=None, sigma=0.02, correlation=0.9):
    """A localiser in a map: a steady sigma, and errors of that size."""
    size = sigma * (1 + 0.1 * np.sin(np.arange(N) / 70))
    error = size[:, None] * remembering(rng, correlation, (N, 3))
    return belief(*drive(rng), error, size, gauge=gauge)


def with_outages(rng):
    """Fixes, and dead reckoning for 20 s of every minute: the position jumps back at its end."""
    since = np.maximum(np.arange(N) % 600 - 400, 0)
    size = np.sqrt(0.02**2 + 0.02**2 * since)
    error = 0.02 * rng.standard_normal((N, 3))
    drift = np.cumsum(np.where(since[:, None] > 0, rng.normal(0, 0.02, (N, 3)), 0), axis=0)
    begin = np.maximum.accumulate(np.where(since == 0, np.arange(N), 0))
    return belief(*drive(rng), error + drift - drift[begin], size)


def closing_loops(rng):
    """A walk that is set back at every lap, honestly reported on both sides."""
    lap = int(130 / SPEED / DT)
    sigma = walk(rng, lap)[1]
    laps = -(-N // lap)
    errors = np.concatenate([walk(rng, lap)[0] for _ in range(laps)])[:N]
    return belief(*drive(rng), errors, np.tile(sigma, laps)[:N])


def jerky(rng):
    """A vehicle on rough ground, up to 2.5 g, seen with 5 mm white errors."""
    position, yaw = drive(rng)
    kick = np.clip(rng.standard_t(3, (N, 3)) * 4, -25, 25) * DT**2 / 4
    bumps = np.apply_along_axis(lambda a: np.convolve(a, [1, 2, 1], "same"), 0, kick)
    return belief(position + bumps / 4, yaw, rng.normal(0, 0.005, (N, 3)), np.full(N, 0.005))


def fast_and_shaking(rng):
    """100 Hz, a vibration of 1 mm, sigma 5 mm."""
    position, yaw = drive(rng)
    position = position / 10 + rng.normal(0, 0.001, (N, 3))
    return belief(position, yaw, 0.005 * remembering(rng, 0.99, (N, 3)), np.full(N, 0.005), dt=0.01)


def long_tailed(rng):
    """White errors of Student's t with 5 degrees of freedom, of the size that is reported."""
    error = rng.standard_normal((N, 3)) * np.sqrt(3 / rng.chisquare(5, (N, 1)))
    return belief(*drive(rng), 0.02 * error, np.full(N, 0.02), gauge="fixed")


CONSISTENT = {
    "odometry": odometry,
    "odometry that turns": turning_odometry,
    "on a plane": lambda rng: odometry(rng, planar=True),
    "in a map": mapped,
    "in a known map": lambda rng: mapped(rng, gauge="fixed"),
    "white in a known map": lambda rng: mapped(rng, gauge="fixed", correlation=0.0),
    "outages": with_outages,
    "loops that close": closing_loops,
    "jerky": jerky,
    "fast and shaking": fast_and_shaking,
    "long tails": long_tailed,
}
ASKED = {"in a map": {"steady-sigma"}, "jerky": {"steady-sigma"}}  # the right question there


def rates(world, runs, seed=3):
    """Share of runs that raise each finding, but for the question that a steady sigma deserves."""
    count = dict.fromkeys(FINDINGS, 0)
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        made = CONSISTENT[world](rng)
        points = rng.integers(500, 3000, len(made)).astype(float)
        for each in findings(made, points):
            count[each.cause] += 1
    return {
        cause: n / runs for cause, n in count.items() if n and cause not in ASKED.get(world, ())
    }


@pytest.mark.parametrize("world", CONSISTENT)
def test_consistent_worlds_raise_nothing(world):
    assert rates(world, 3) == {}


@pytest.mark.slow
@pytest.mark.parametrize("world", CONSISTENT)
def test_consistent_worlds_raise_nothing_in_100_runs(world):
    found = rates(world, 100, seed=4)
    assert max(found.values(), default=0) <= 0.02, found


def causes(track, counts=None):
    return [each.cause for each in findings(track, counts)]


POWER = {  # what deserves a finding, and how often it is raised at least
    "position-jump": lambda rng: jumped(rng, 0.6),
    "position-jitter": lambda rng: belief(*drive(rng), rng.normal(0, 0.02, (N, 3)),
                                          np.full(N, 0.005), gauge="fixed"),
    "height-at-revisits": lambda rng: sinking(rng, 0.5),
    "steady-sigma": lambda rng: belief(*drive(rng), walk(rng)[0], np.full(N, 0.01)),
}  # fmt: skip


def jumped(rng, jump_m):
    """A jump of so many metres, where sigma is two centimetres at most."""
    error, sigma = walk(rng, step=0.0005)
    error[rng.integers(300, N - 300) :] += jump_m * np.array([0.6, 0.8, 0])
    return belief(*drive(rng), error, sigma)


def sinking(rng, drift_m):
    """A height that drifts by so many metres, where sigma is centimetres at most."""
    error, sigma = walk(rng, step=0.0004)
    error[:, 2] += np.linspace(0, drift_m, N)
    return belief(*drive(rng), error, sigma)


@pytest.mark.slow
@pytest.mark.parametrize("cause", POWER)
def test_what_deserves_a_finding_raises_it_in_100_runs(cause):
    worlds = (POWER[cause](np.random.default_rng([5, run])) for run in range(100))
    assert sum(cause in causes(world) for world in worlds) >= 95


def test_a_localiser_in_no_declared_world_is_asked_for_its_map(rng):
    (found,) = findings(mapped(rng))
    assert found.cause == "steady-sigma"
    assert "is there a map, GNSS or another absolute fix?" in found.sentence
    assert found.evidence["path_m"] == pytest.approx(400, rel=0.1)
    assert found.evidence["drift_percent"] == pytest.approx(100 * 0.044 / 400, rel=0.1)


@pytest.mark.parametrize("jump_m", [0.6, 3.0])
def test_a_jump_that_the_covariance_does_not_allow(jump_m, rng):
    position, yaw = drive(rng)
    error, sigma = walk(rng, step=0.0005)
    error[1200:] += [jump_m, 0, 0]
    (found,) = findings(belief(position, yaw, error, sigma))
    assert found.cause == "position-jump"
    assert found.evidence["jump_m"] == pytest.approx(jump_m, rel=0.1)
    assert found.evidence["time_s"] == pytest.approx(120.0)
    assert found.evidence["acceleration_m_s2"] == pytest.approx(jump_m / DT**2, rel=0.1)
    wide = belief(position, yaw, error, sigma + jump_m)
    assert "position-jump" not in causes(wide)


def test_a_jitter_that_the_covariance_does_not_allow(rng):
    track = belief(*drive(rng), rng.normal(0, 0.02, (N, 3)), walk(rng, step=0.0001)[1])
    (found,) = findings(track)
    assert found.cause == "position-jitter"
    assert found.evidence["jitter_m"] == pytest.approx(0.02, rel=0.1)
    assert found.evidence["factor"] > 3


def test_a_height_that_drifts_is_seen_at_revisits(rng):
    position, yaw = drive(rng)
    error, sigma = walk(rng, step=0.0004)
    error[:, 2] += np.linspace(0, 1.5, N)
    track = belief(position, yaw, error, sigma)
    (found,) = findings(track)
    assert found.cause == "height-at-revisits"
    assert 0.4 < found.evidence["height_m"] < 1.5
    _, again = look(track)
    assert again.places == found.evidence["places"] > 100
    assert again.way_m > 120
    assert again.allowed_m < 0.1


def test_a_path_without_a_loop_has_no_revisits(rng):
    straight = np.outer(SPEED * DT * np.arange(N), [1.0, 0, 0])
    assert look(belief(straight, np.zeros(N), *walk(rng)))[1] is None


def test_a_variance_that_follows_the_points_alone(rng):
    counts = 1000 * np.exp(np.cumsum(rng.normal(0, 0.05, N)) * 0.3)
    sigma = 0.05 / np.sqrt(counts)
    track = belief(*drive(rng), sigma[:, None] * rng.standard_normal((N, 3)), sigma, gauge="fixed")
    assert causes(track) == []
    (found,) = findings(track, counts)
    assert found.cause == "points-alone"
    assert found.evidence["share"] == pytest.approx(1.0)
    assert found.evidence["power"] == pytest.approx(-1.0)


@pytest.mark.parametrize("name", ["identity", "copied-diagonal", "few-values"])
def test_settings_for_covariances(name, rng):
    track = odometry(rng)
    covariance = track.covariance.copy()
    if name == "identity":
        covariance[:] = np.eye(6)
    elif name == "copied-diagonal":
        size = covariance[:, 0, 0]
        covariance[:] = size[:, None, None] * np.eye(6)
    else:
        covariance *= 0
        covariance += np.diag([0.01] * 3 + [1e-4] * 3) * rng.integers(1, 4, (N, 1, 1)) ** 2
    track = track.with_arrays({"covariance": covariance})
    assert causes(track)[0] == name


def test_check_and_its_document_show_them(rng, tmp_path, capsys, monkeypatch):
    from smfeval import write  # noqa: PLC0415

    monkeypatch.chdir(tmp_path)
    position, yaw = drive(rng)
    counts = np.round(1000 + 500 * np.sin(np.arange(N) / 200))
    sigma = 0.05 / np.sqrt(counts)
    error = sigma[:, None] * rng.standard_normal((N, 3))
    error[1200:] += [3.0, 0, 0]
    track = belief(position, yaw, error, sigma)
    write(track, "est.square")
    rows = (
        f"{stamp / 1e9:.9f} {count:.0f}" for stamp, count in zip(track.stamp, counts, strict=True)
    )
    (tmp_path / "points.txt").write_text("# stamp n_matched\n" + "\n".join(rows) + "\n")
    assert main(["score", "est.square"]) == 0
    out = capsys.readouterr().out
    assert "1 jump of the position, the largest by 3 m" in out
    assert " before stamp 120.000000000: the reported covariances allow" in out
    assert "loops" in out
    assert "number of points" not in out
    assert main(["check", "est.square", "--telemetry", "points.txt", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    names = [each["name"] for each in document["findings"]]
    assert names == ["position-jump", "steady-sigma", "points-alone"]
    assert document["findings"][0]["numbers"]["jumps"] == 1
    assert document["revisits"]["places"] > 100
    assert examine("est.square", telemetry="points.txt").findings[2].evidence["share"] > 0.99
    (tmp_path / "points.txt").write_text("# stamp voltage\n0 12\n")
    assert main(["check", "est.square", "--telemetry", "points.txt"]) == 2
    assert "no column of matched or points; there is voltage" in capsys.readouterr().err
