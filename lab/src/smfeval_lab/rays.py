"""Rays against the surfaces of a scene, one by one, in machine code.

Each function shortens `nearest`, the distance known so far along each ray. Rays are sorted by
azimuth; a surface is tried on the slices of them that may meet it.
"""

from typing import NamedTuple

import numpy as np

from smfeval.maths.arrays import Floats, Ints
from smfeval_lab.compiled import jit_compile

CLOSE_M = 1e-9  # clearance over waves that counts as contact
STEPS = 60  # grazing rays need some 20; what is not met by then passes over the ground
EXPANDED_M = 0.3  # waves of 8 m are followed to 0.1 mm so far
TEXTURE_CLOSE_M = 1e-4  # clearance over tufts that counts as contact
CLOSING_STEPS = 24  # every second one halves: from a quarter of a cell to a millionth of a metre
TEXTURE_STEPS = 400  # a ray at 1 degree crosses the tufts of a meadow in some 100
LEAF_CELL_M = 0.2  # edge of the cells of a crown: clumps of leaves are about so large
BOX = 0  # the other kind of a solid is a tube


class Rays(NamedTuple):
    """Rays sorted by azimuth, and the distance to the nearest surface known so far."""

    start: Floats  # (n, 3) m
    step: Floats  # (n, 3) unit vectors
    time: Floats  # (n,) s
    nearest: Floats  # (n,) m, shortened in place


class Slices(NamedTuple):
    """Rays first[i] to last[i] may meet surface[i], not before distance near[i]."""

    surface: Ints
    first: Ints
    last: Ints
    near: Floats


class Solids(NamedTuple):
    """Boxes (centre, rotation, half) and tubes (centre, axis, radius, half length) as rows.

    Those with path[i] >= 0 are given in the axes of a body that moves: at the time t its x, y,
    z and yaw lie between the rows t / knot_s and t / knot_s + 1 of that path.
    """

    kind: Ints  # (k,)
    row: Floats  # (k, 15)
    path: Ints  # (k,) -1: at rest
    pose: Floats  # (p, knots, 4)
    knot_s: float


@jit_compile
def cast_solids(rays: Rays, slices: Slices, solids: Solids) -> None:
    """Boxes and tubes, at rest or moving."""
    start, step = np.empty(3), np.empty(3)
    for k in range(len(slices.surface)):
        near, row = slices.near[k], solids.row[slices.surface[k]]
        kind, path = solids.kind[slices.surface[k]], solids.path[slices.surface[k]]
        for j in range(slices.first[k], slices.last[k]):
            if rays.nearest[j] <= near:
                continue
            for i in range(3):
                start[i], step[i] = rays.start[j, i], rays.step[j, i]
            if path >= 0:
                into_body(start, step, solids.pose[path], rays.time[j] / solids.knot_s)
            distance = hit_box(row, start, step) if kind == BOX else hit_tube(row, start, step)
            rays.nearest[j] = min(rays.nearest[j], distance)


@jit_compile
def into_body(start: Floats, step: Floats, pose: Floats, knot: float) -> None:
    """Express a ray, in place, in the axes of a body between two knots of its path."""
    last = len(pose) - 1
    knot = min(max(knot, 0.0), float(last))
    first = min(int(knot), last - 1)
    share = knot - first
    for i in range(3):
        start[i] -= (1 - share) * pose[first, i] + share * pose[first + 1, i]
    yaw = (1 - share) * pose[first, 3] + share * pose[first + 1, 3]
    cos, sin = np.cos(yaw), np.sin(yaw)
    start[0], start[1] = cos * start[0] + sin * start[1], cos * start[1] - sin * start[0]
    step[0], step[1] = cos * step[0] + sin * step[1], cos * step[1] - sin * step[0]


@jit_compile
def hit_box(row: Floats, start: Floats, step: Floats) -> float:
    """Distance to the first face of a box, inf without one.

    Along axis i the ray is inside while |o_i + t d_i| <= half_i (slab method); it is inside
    the box while it is so along all three. From within, the far face is met.
    """
    enter, leave = -np.inf, np.inf
    for i in range(3):
        at, rate = 0.0, 0.0
        for c in range(3):  # column i of world_R_box
            at += row[3 + 3 * c + i] * (start[c] - row[c])
            rate += row[3 + 3 * c + i] * step[c]
        half = row[12 + i]
        if rate == 0.0:
            if abs(at) > half:
                return np.inf
            continue
        one, other = (-half - at) / rate, (half - at) / rate
        enter, leave = max(enter, min(one, other)), min(leave, max(one, other))
        if enter > leave:
            return np.inf
    first = enter if enter > 0 else leave
    return first if first > 0 else np.inf


@jit_compile
def hit_tube(row: Floats, start: Floats, step: Floats) -> float:
    """Distance to the first wall of a tube, inf without one.

    With both parts across the axis, |o + t d|^2 = radius^2 is quadratic in t.
    """
    along, rate = 0.0, 0.0
    for i in range(3):
        along += row[3 + i] * (start[i] - row[i])
        rate += row[3 + i] * step[i]
    a, b, c = 0.0, 0.0, -row[6] * row[6]
    for i in range(3):
        across = start[i] - row[i] - along * row[3 + i]
        turn = step[i] - rate * row[3 + i]
        a, b, c = a + turn * turn, b + across * turn, c + across * across
    square = b * b - a * c
    if a == 0.0 or square < 0:
        return np.inf
    root = np.sqrt(square)
    for distance in ((-b - root) / a, (-b + root) / a):
        if distance > 0 and abs(along + distance * rate) <= row[7]:
            return distance
    return np.inf


class GroundShape(NamedTuple):
    """Waves on a plane, and tufts on top of them: heights at the corners of a grid of cells."""

    level: float
    amplitude: Floats  # (w,)
    wave: Floats  # (w, 2)
    phase: Floats  # (w,)
    tuft_m: float  # corners are at most so far above or below; 0: none
    cell_m: float
    seed: int


@jit_compile
def cast_ground(rays: Rays, shape: GroundShape) -> None:
    """The ground, from above."""
    crest = shape.level + shape.tuft_m
    for w in range(len(shape.amplitude)):
        crest += abs(shape.amplitude[w])
    for j in range(len(rays.nearest)):
        height, fall = rays.start[j, 2], rays.step[j, 2]
        above = height > crest
        if above and fall >= 0:
            continue
        at = (crest - height) / fall if above else 0.0
        if at > rays.nearest[j]:
            continue
        if len(shape.amplitude):  # down to the waves, or to where the highest tufts may begin
            at = march_waves(rays.start[j], rays.step[j], at, rays.nearest[j], shape)
        elif not above:
            continue
        if shape.tuft_m > 0 and at < rays.nearest[j]:
            at = march_tufts(rays.start[j], rays.step[j], at, rays.nearest[j], shape)
        rays.nearest[j] = min(rays.nearest[j], at)


@jit_compile
def waves_below(
    start: Floats, step: Floats, at: float, shape: GroundShape
) -> tuple[float, float, float]:
    """Height of a ray over the waves at a distance, and its two derivatives along the ray."""
    x, y = start[0] + at * step[0], start[1] + at * step[1]
    gap, slope, bend = start[2] + at * step[2] - shape.level, step[2], 0.0
    for w in range(len(shape.amplitude)):
        angle = shape.wave[w, 0] * x + shape.wave[w, 1] * y + shape.phase[w]
        rate = shape.wave[w, 0] * step[0] + shape.wave[w, 1] * step[1]
        sin, cos = sin_cos(angle)
        height = shape.amplitude[w] * sin
        gap, bend = gap - height, bend + height * rate * rate
        slope -= shape.amplitude[w] * rate * cos
    return gap, slope, bend


TURN = 4096  # angles of the table in a turn
SIN, COS = (f(2 * np.pi / TURN * np.arange(TURN)) for f in (np.sin, np.cos))


@jit_compile
def sin_cos(angle: float) -> tuple[float, float]:
    """Sine and cosine from those of the nearest angle in a table, to 1e-12; most time goes here."""
    nearest = np.floor(angle * (TURN / (2 * np.pi)) + 0.5)
    rest = angle - nearest * (2 * np.pi / TURN)
    sin, cos = SIN[int(nearest) & (TURN - 1)], COS[int(nearest) & (TURN - 1)]
    even, odd = 1 - 0.5 * rest * rest, rest * (1 - rest * rest / 6)
    return sin * even + cos * odd, cos * even - sin * odd


@jit_compile
def march_waves(start: Floats, step: Floats, at: float, limit: float, shape: GroundShape) -> float:
    """Walk along a ray without ever passing the waves with the highest tufts on them.

    The bend of the waves along the ray is bounded, so a gap and its slope give a safe step.
    """
    bend = 0.0
    for w in range(len(shape.amplitude)):
        rate = shape.wave[w, 0] * step[0] + shape.wave[w, 1] * step[1]
        bend += abs(shape.amplitude[w]) * rate * rate
    for _ in range(STEPS):
        gap, slope, _ = waves_below(start, step, at, shape)
        gap -= shape.tuft_m
        if gap <= max(CLOSE_M, 0.1 * shape.tuft_m):
            return at
        speed = np.sqrt(slope * slope + 2 * bend * gap) - slope
        if speed <= 0:
            return np.inf
        at += 2 * gap / speed
        if at >= limit:
            return np.inf
    return np.inf


@jit_compile
def march_tufts(start: Floats, step: Floats, at: float, limit: float, shape: GroundShape) -> float:
    """Walk along a ray in steps of a quarter of a cell or more, then close in on the crossing.

    A step that cannot pass the steepest tufts may be longer. What is thinner than a quarter of a
    cell along the ray can be missed. The waves are followed to second order for 0.3 m at a time.
    """
    level = np.hypot(step[0], step[1])
    steepest = 2 * np.sqrt(2.0) * shape.tuft_m / shape.cell_m
    least = 0.25 * shape.cell_m / max(level, 0.25)
    centre, before, gap_before = at, at, 0.0
    over, slope, bend = waves_below(start, step, centre, shape)
    for _ in range(TEXTURE_STEPS):
        if at - centre > EXPANDED_M:
            centre = at
            over, slope, bend = waves_below(start, step, centre, shape)
        along = at - centre
        height = over + along * (slope + 0.5 * along * bend)
        gap = gap_to_tufts(start, step, at, height, shape)
        if gap <= 0:
            break
        if at >= limit:
            return np.inf
        before, gap_before = at, gap
        at += max(gap / max(steepest * level - slope - along * bend, 1e-9), least)
    for turn in range(CLOSING_STEPS):  # between a place above the ground and one below it
        share = 0.5 if turn % 2 else min(max(gap_before / (gap_before - gap), 0.1), 0.9)
        middle = before + (at - before) * share
        along = middle - centre
        height = over + along * (slope + 0.5 * along * bend)
        gap_middle = gap_to_tufts(start, step, middle, height, shape)
        if abs(gap_middle) < TEXTURE_CLOSE_M:
            return middle
        if gap_middle > 0:
            before, gap_before = middle, gap_middle
        else:
            at, gap = middle, gap_middle
    return at


@jit_compile
def gap_to_tufts(
    start: Floats, step: Floats, at: float, height: float, shape: GroundShape
) -> float:
    """Height over the tufts of a place on a ray whose height over the waves is known."""
    if abs(height) > shape.tuft_m:  # above the highest or below the lowest of them
        return height - shape.tuft_m if height > 0 else height + shape.tuft_m
    x, y = start[0] + at * step[0], start[1] + at * step[1]
    return height - shape.tuft_m * tuft_height(x / shape.cell_m, y / shape.cell_m, shape.seed)


@jit_compile
def tuft_height(x: float, y: float, seed: int) -> float:
    """Between the corners of a cell, bilinear; a corner is drawn evenly from -1 to 1."""
    i, j = np.floor(x), np.floor(y)
    u, v = x - i, y - j
    low = (1 - u) * corner_height(i, j, seed) + u * corner_height(i + 1, j, seed)
    high = (1 - u) * corner_height(i, j + 1, seed) + u * corner_height(i + 1, j + 1, seed)
    return (1 - v) * low + v * high


@jit_compile
def corner_height(i: float, j: float, seed: int) -> float:
    """Drawn by the numbers of the corner. -1 to 1."""
    return 2.0 * float(mix(int(i), int(j), 0, seed) >> np.uint64(11)) * 2.0**-53 - 1.0


@jit_compile
def mix(i: int, j: int, k: int, seed: int) -> np.uint64:
    """A number of 64 random bits that is the same for the same four numbers (SplitMix64)."""
    bits = (
        np.uint64(i) * np.uint64(0x9E3779B97F4A7C15)
        ^ np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F)
        ^ np.uint64(k) * np.uint64(0x165667B19E3779F9)
        ^ np.uint64(seed) * np.uint64(0xD6E8FEB86659FD93)
    )
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


@jit_compile
def roughen(rays: Rays, reach: float, highest: float, cell: float) -> None:
    """Move returns along their rays by a relief that is fixed in the world, within +-`highest`.

    Heights are drawn for the corners of a grid, trilinear in between; a ray without a return, at
    `reach`, stays as it is.
    """
    for r in range(len(rays.nearest)):
        if rays.nearest[r] >= reach:
            continue
        x, y, z = (rays.start[r] + rays.nearest[r] * rays.step[r]) / cell
        i, j, k = np.floor(x), np.floor(y), np.floor(z)
        height = 0.0
        for corner in range(8):
            a, b, c = corner & 1, (corner >> 1) & 1, corner >> 2
            weight = (1 - abs(x - i - a)) * (1 - abs(y - j - b)) * (1 - abs(z - k - c))
            drawn = float(mix(int(i) + a, int(j) + b, int(k) + c, 1) >> np.uint64(11)) * 2.0**-53
            height += weight * (2 * drawn - 1)
        rays.nearest[r] += highest * height


class Crowns(NamedTuple):
    """Ellipsoids full of leaves."""

    centre: Floats  # (k, 3)
    half: Floats  # (k, 3) semi-axes
    extinction: Floats  # (k,) 1/m
    seed: int


@jit_compile
def cast_crowns(rays: Rays, slices: Slices, crowns: Crowns) -> None:
    """Leaves between the places where a ray enters a crown and leaves it."""
    for k in range(len(slices.surface)):
        i, near = slices.surface[k], slices.near[k]
        for j in range(slices.first[k], slices.last[k]):
            if rays.nearest[j] <= near:
                continue
            a, b, c = 0.0, 0.0, -1.0
            for m in range(3):
                at = (rays.start[j, m] - crowns.centre[i, m]) / crowns.half[i, m]
                rate = rays.step[j, m] / crowns.half[i, m]
                a, b, c = a + rate * rate, b + at * rate, c + at * at
            square = b * b - a * c
            if square <= 0:
                continue
            root = np.sqrt(square)
            enter, leave = max((-b - root) / a, 0.0), min((-b + root) / a, rays.nearest[j])
            if enter < leave:
                ray = rays.start[j], rays.step[j]
                leaf = first_leaf(ray, enter, leave, crowns.extinction[i], crowns.seed)
                rays.nearest[j] = min(rays.nearest[j], leaf)


@jit_compile
def first_leaf(
    ray: tuple[Floats, Floats], enter: float, leave: float, extinction: float, seed: int
) -> float:
    """Distance to the first leaf that a ray meets between two distances, inf without one.

    The ray goes from cell to cell of a grid over the world (Amanatides and Woo). For each cell
    an optical depth E is drawn once, with density exp(-E): a ray ends in the cell where
    extinction times the way in it reaches E. Cells are independent, so a way L is free with
    probability exp(-extinction L) in any direction, and the same ray meets the same leaf.
    """
    start, step = ray
    cell, side, ahead, across = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for m in range(3):
        cell[m] = np.floor((start[m] + enter * step[m]) / LEAF_CELL_M)
        side[m] = 1.0 if step[m] > 0 else -1.0
        edge = (cell[m] + (1.0 if step[m] > 0 else 0.0)) * LEAF_CELL_M
        ahead[m] = (edge - start[m]) / step[m] if step[m] != 0 else np.inf
        across[m] = LEAF_CELL_M / abs(step[m]) if step[m] != 0 else np.inf
    at = enter
    while at < leave:
        m = 0 if ahead[0] <= ahead[1] else 1
        m = m if ahead[m] <= ahead[2] else 2
        share = float(mix(int(cell[0]), int(cell[1]), int(cell[2]), seed) >> np.uint64(11))
        leaf = at - np.log1p(-share * 2.0**-53) / extinction
        if leaf < min(ahead[m], leave):
            return leaf
        at = max(at, ahead[m])
        cell[m] += side[m]
        ahead[m] += across[m]
    return np.inf
