"""What makes worlds hard, each effect against what was asked for."""

import numpy as np
from drawing import save
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from smfeval.maths import se3
from smfeval.show.figures.style import COLOURS, GREY, WIDE_IN, paper_style
from smfeval_lab.motion import HANDHELD, Gait, Route, simulate_walk
from smfeval_lab.scene import Crown, Ground, Moving, Scene, Tufts, box, cast
from smfeval_lab.sensors.survey import SURVEYS, body_pose, measure_reference

EXTINCTION = 0.5  # 1/m
STRAIGHT = Route(np.array([(0.0, 0), (60, 0), (90, 40), (160, 40)]), rounding_m=2.5)


def leaves(axes: Axes) -> None:
    """How many of the rays that enter a large crown are still on their way."""
    rng = np.random.default_rng(0)
    direction = rng.normal(size=(20_000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    crown = Crown(np.zeros(3), np.full(3, 90.0), EXTINCTION)
    start = rng.uniform(-40, 40, size=(20_000, 3))
    depth = np.sort(cast(Scene((), crowns=(crown,)), start, direction, 20.0))
    depth = depth[np.isfinite(depth)]
    at = np.linspace(0, 4, 200)
    left = 1 - np.searchsorted(depth, at) / len(direction)
    axes.plot(at, left, color=COLOURS[0], label="cast")
    axes.plot(at, np.exp(-EXTINCTION * at), color="black", ls="--", label="exp(-0.5 x / m)")
    axes.set(
        xlabel="way in the leaves (m)", ylabel="rays on their way", title="leaves", ylim=(0, 1)
    )
    axes.legend()


def crown_points(axes: Axes) -> None:
    """Returns of one tree, seen from the left."""
    rng = np.random.default_rng(1)
    tree = Crown(np.array([10.0, 0, 4]), np.array([2.5, 2.5, 2.0]), EXTINCTION)
    ray = np.column_stack([np.full(1500, 10.0), rng.uniform(-2.6, 2.6, 1500),
                           rng.uniform(0.5, 5.5, 1500)])  # fmt: skip
    ray /= np.linalg.norm(ray, axis=1, keepdims=True)
    origin = np.tile([0.0, 0, 1.1], (1500, 1))
    distance = cast(Scene((), crowns=(tree,)), origin, ray, 30.0)
    met = np.isfinite(distance)
    point = origin[met] + distance[met, None] * ray[met]
    point = point[np.abs(point[:, 1]) < 1.0]
    axes.plot(point[:, 0], point[:, 2], ".", ms=1.5, color=COLOURS[2])
    turn = np.linspace(0, 2 * np.pi, 100)
    axes.plot(10 + 2.5 * np.cos(turn), 4 + 2 * np.sin(turn), color=GREY)
    axes.set(aspect="equal", xlabel="x (m)", ylabel="z (m)", title="returns of a crown")


def texture(axes: Axes) -> None:
    """A stretch of grass, and where rays meet it."""
    ground = Ground(tufts=Tufts(0.02, 0.25, 3))
    x = np.linspace(4, 8, 800)
    above, down = np.column_stack([x, 0 * x, 0 * x + 1]), np.tile([0.0, 0, -1], (800, 1))
    axes.plot(x, 100 * (1 - cast(Scene((), ground), above, down, 20.0)), color=GREY)
    angle = np.arctan2(-1.2, np.linspace(4, 8, 60))
    ray = np.column_stack([np.cos(angle), 0 * angle, np.sin(angle)])
    origin = np.tile([0.0, 0, 1.2], (60, 1))
    point = origin + cast(Scene((), ground), origin, ray, 20.0)[:, None] * ray
    axes.plot(point[:, 0], 100 * point[:, 2], ".", ms=3, color=COLOURS[1])
    axes.set(xlabel="x (m)", ylabel="height (cm)", title="grass of 2 cm rms", xlim=(4, 8))


def moving(axes: Axes) -> None:
    """A car that drives by at 8 m/s, in ten scans; each ray meets it where it then is."""
    knots = np.arange(0, 3, 0.1)
    pose = np.column_stack([8 * knots - 12, np.full(30, 6.0), 0 * knots, 0 * knots])
    scene = Scene((), moving=(Moving((box((0, 0, 0.6), (4.3, 1.75, 0.8)),), pose),))
    turn = -2 * np.pi * np.arange(0, 20, 1 / 720)
    ray = np.column_stack([np.cos(turn), np.sin(turn), 0 * turn])
    time = np.arange(len(turn)) / 7200
    origin = np.tile([0.0, 0, 0.6], (len(turn), 1))
    distance = cast(scene, origin, ray, 30.0, time=time)
    shown = np.isfinite(distance) & ((time * 10).astype(int) % 4 == 0)
    point = distance[shown, None] * ray[shown]
    axes.scatter(*point[:, :2].T, c=time[shown], s=1.5, cmap="viridis")
    axes.plot(0, 0, "+", color="black")
    axes.set(aspect="equal", xlabel="x (m)", ylabel="y (m)", title="a car, every fourth scan")


def hand(axes: Axes) -> None:
    """Yaw besides the heading, and pitch, of one who holds the scanner in the hand."""
    time = np.arange(20, 50, 0.02)
    for gait, colour, name in ((Gait(), GREY, "walking"), (HANDHELD, COLOURS[0], "hand")):
        walk = simulate_walk(STRAIGHT, rng=np.random.default_rng(3), gait=gait)
        axes.plot(time, np.degrees(walk.angles(time)[:, 1]), color=colour, lw=0.8, label=name)
    axes.set(xlabel="time (s)", ylabel="pitch (deg)", title="hand-held")
    axes.legend()


def survey(axes: Axes) -> None:
    """Errors of a measured reference along x, and twice the sigma that it reports."""
    walk = simulate_walk(STRAIGHT, rng=np.random.default_rng(3))
    kind = SURVEYS["scanner"]
    track, _ = measure_reference(walk, kind, start=0, rng=np.random.default_rng(8))
    true = se3.compose(walk.pose(track.stamp / 1e9), body_pose(kind))[0]
    left, right = true - true.mean(axis=0), track.position - track.position.mean(axis=0)
    u, _, vt = np.linalg.svd(right.T @ left)
    error = right - left @ (u @ vt).T
    time, sigma = track.stamp / 1e9, np.sqrt(track.position_covariance[:, 0, 0])
    for cut in np.split(np.arange(len(time)), np.flatnonzero(np.diff(time) > 0.5) + 1):
        axes.fill_between(time[cut], -200 * sigma[cut], 200 * sigma[cut], color=GREY,
                          alpha=0.4, lw=0)  # fmt: skip
        axes.plot(time[cut], 100 * error[cut, 0], color=COLOURS[1], lw=0.6)
    axes.set(xlabel="time (s)", ylabel="error, 2 sigma (cm)", title="measured reference")


with paper_style():
    figure = Figure(figsize=(WIDE_IN, 4.6), layout="constrained")
    panels = figure.subplots(2, 3).ravel()
    for draw, axes in zip(
        (leaves, crown_points, texture, moving, hand, survey), panels, strict=True
    ):
        draw(axes)
save(figure, "effects.svg")
