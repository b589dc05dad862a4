"""Keyframes: earlier scans that a scan is registered to, each with the pose it is believed to have.

Registration is generalised ICP (Segal et al., RSS 2009) of small-gicp. Its Hessian H takes every
point for a disc with a variance of 1e-3 m^2 along the normal, so a pair has 2e-3 m^2; scaled to the
variance that a setting names, H is the information of the registration, rotation first, right.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from smfeval.lab.filters.gtsam_smoother.settings import Settings
from smfeval.lab.filters.needed import needed
from smfeval.maths.arrays import Floats

PAIR_VARIANCE = 2e-3  # m^2 along the normal of a pair, as small-gicp regularises its discs
NEIGHBOURS = 10  # points that a disc is fitted to
FEWEST = 20  # points of a scan or pairs of a registration; fewer say nothing


class Cloud(NamedTuple):
    """Points of a scan, thinned, with discs and a tree."""

    points: Any
    tree: Any


class Registration(NamedTuple):
    """The pose of a scan in a keyframe."""

    keyframe: int  # number of its scan
    pose: Floats  # (4, 4) keyframe from scan
    information: Floats  # (6, 6) rotation first, right


@dataclass
class Keyframes:
    """All keyframes so far. Poses are kept up to date by the window until they leave it."""

    settings: Settings
    cloud: dict[int, Cloud] = field(default_factory=dict)
    pose: dict[int, Floats] = field(default_factory=dict)  # (4, 4)

    def __post_init__(self) -> None:
        self.gicp = needed("small_gicp", "small-gicp", "gtsam-smoother")

    def prepared(self, point: Floats) -> Cloud | None:
        """The cloud of a scan's points, if they are enough."""
        if len(point) < FEWEST:
            return None
        cloud = Cloud(*self.gicp.preprocess_points(point, self.settings.voxel_m, NEIGHBOURS))
        return cloud if len(cloud.points) >= FEWEST else None

    def registered(self, cloud: Cloud, guess: Floats, usable: set[int]) -> Iterator[Registration]:
        """The scan in the nearest of the usable keyframes."""
        place = {i: np.linalg.norm(self.pose[i][:3, 3] - guess[:3, 3]) for i in usable}
        for i in sorted(place, key=place.__getitem__)[: self.settings.matches]:
            found = self.gicp.align(
                self.cloud[i].points,
                cloud.points,
                self.cloud[i].tree,
                np.linalg.solve(self.pose[i], guess),
                max_correspondence_distance=self.settings.reach_m,
            )
            if found.converged and found.num_inliers >= FEWEST:
                scale = PAIR_VARIANCE / self.settings.point_variance
                yield Registration(i, found.T_target_source, scale * found.H)

    def is_new(self, pose: Floats) -> bool:
        """Whether a scan at a pose is far enough from the last keyframe to be the next."""
        if not self.pose:
            return True
        step = np.linalg.solve(self.pose[max(self.pose)], pose)
        turn = np.degrees(np.arccos(np.clip((np.trace(step[:3, :3]) - 1) / 2, -1, 1)))
        return bool(
            np.linalg.norm(step[:3, 3]) > self.settings.keyframe_m
            or turn > self.settings.keyframe_deg
        )
