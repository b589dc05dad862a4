"""World alignments: x -> scale R x + t, and what they do to a belief."""

from dataclasses import dataclass

import numpy as np

from smfeval.maths import so3
from smfeval.maths.arrays import Floats
from smfeval.track import AnyTrack, GaussianTrack, ParticleTrack


@dataclass(frozen=True)
class Alignment:
    """reference_T_estimate of the worlds, how it was found, and how well it fits.

    `freedoms` counts the degrees of freedom that were taken from the data; `free` names the
    directions that the data leave open (degenerate geometry), where the fit is arbitrary.
    """

    kind: str
    rotation: Floats  # (3, 3)
    translation: Floats  # (3,)
    scale: float = 1.0
    freedoms: int = 0
    free: tuple[str, ...] = ()
    residual_m: float | None = None  # RMSE of the fitted poses
    fitted_scans: int = 0
    fitted_path_m: float = 0.0

    def __call__(self, track: AnyTrack) -> AnyTrack:
        """The same beliefs in the reference's world.

        A rotation and translation of the world multiply on the left and leave the right
        perturbation untouched; a scale stretches its position part.
        """
        turn = so3.quaternion(self.rotation)
        if isinstance(track, ParticleTrack):
            rows = {
                "particle_position": self.moved(track.particle_position),
                "particle_rotation": so3.compose(turn, track.particle_rotation),
            }
            return track.replaced(rows)
        rows = {
            "position": self.moved(track.position),
            "rotation": so3.compose(turn, track.rotation),
        }
        if isinstance(track, GaussianTrack) and self.scale != 1.0:
            stretch = np.array([self.scale] * 3 + [1.0] * 3)
            rows["covariance"] = track.covariance * np.outer(stretch, stretch)
        return track.replaced(rows)

    def moved(self, position: Floats) -> Floats:
        """Positions in the reference's world: scale R x + t. (n, 3)."""
        moved = so3.turned(self.scale * self.rotation, position)
        moved += self.translation
        return moved


IDENTITY = Alignment("none", np.eye(3), np.zeros(3))
