"""Simulate: a world and a seed become a recording with an exact reference."""

import numpy as np

from smfeval import words
from smfeval.errors import OptionError
from smfeval.maths import se3, so3
from smfeval.maths.arrays import Ints
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About, Provenance, Track
from smfeval_lab.motion import SimulatedMotion, simulate_walk
from smfeval_lab.recording import Recording, Scans
from smfeval_lab.sensors.faults import Faults, draw_truth, format_faults
from smfeval_lab.sensors.imu import ImuModel, simulate_imu
from smfeval_lab.sensors.lidar import LidarModel, Rig, simulate_scans
from smfeval_lab.sensors.survey import Survey, body_pose, measure_reference
from smfeval_lab.worlds import World, world_named

START = 1_700_000_000 * NANOSECONDS
MOUNTING = (np.array([0.05, -0.02, 0.10]), so3.exp(np.array([0.0, 0.05, 0.35])))  # imu_T_lidar


def simulate(
    world: World | str,
    seed: int = 1,
    *,
    duration_s: float | None = None,
    faults: Faults | None = None,
    imu: ImuModel | None = None,
    lidar: LidarModel | None = None,
    imu_T_lidar: se3.Pose = MOUNTING,
    survey: Survey | None = None,
) -> Recording:
    """Walk through a world with an IMU and a LiDAR.

    Parameters
    ----------
    world, seed
        Together they fix the scene, the walk, the noise and the faults: the same bytes each time.
    duration_s
        Less than the whole route.
    faults
        Those of the world unless given; `NO_FAULTS` for none. `HANDHELD_FAULTS` also make walls
        and ground rough, and bring bushes, people and the sway of an arm.
    imu, lidar
        Sensor models, as a filter is told.
    imu_T_lidar
        The mounting that a filter is told.
    survey
        How the reference is measured, beside the exact one.
    """
    if seed < 0:
        raise OptionError(f"a seed is zero or more, not {seed}")
    world = world_named(world) if isinstance(world, str) else world
    imu, lidar = imu or ImuModel(), lidar or LidarModel()
    faults = world.faults if faults is None else faults
    built = world.build(seed, faults)
    walk, imu_chance, lidar_chance, fault_chance, survey_chance = (
        np.random.default_rng([seed, part]) for part in range(1, 6)
    )

    ground = built.scene.ground
    motion = simulate_walk(
        built.route, rng=walk, gait=built.gait, ground=ground, duration_s=duration_s
    )
    samples, since = simulate_imu(motion, imu, start=START, rng=imu_chance)
    truth = draw_truth(faults, imu_T_lidar, lidar.pattern.rings, fault_chance)
    scans = simulate_scans(Rig(built.scene, motion, lidar, truth), start=START, rng=lidar_chance)
    measured, survey_notes = None, tuple[str, ...]()
    if survey is not None:
        measured, survey_notes = measure_reference(motion, survey, start=START, rng=survey_chance)
    return Recording(
        f"{world.name}_{seed}",
        samples,
        scans,
        imu_T_lidar,
        imu.noise,
        lidar.range_sigma_m,
        exact_reference(motion, since, world.name),
        (*_notes(world.name, seed, faults, scans), *survey_notes),
        measured,
        None if survey is None else body_pose(survey),
    )


def exact_reference(motion: SimulatedMotion, since: Ints, world: str) -> Track:
    """The poses of the IMU, ns after the start; the ends of the scans are among them."""
    position, rotation = motion.pose(since / NANOSECONDS)
    about = About(body="imu", world="world", gauge="fixed", algorithm="simulation")
    provenance = Provenance(f"{world} reference", "simulation")
    return Track(START + since, position, rotation, about=about, provenance=provenance)


def _notes(world: str, seed: int, faults: Faults, scans: Scans) -> list[str]:
    notes = [
        f"simulated: world {world}, seed {seed}",
        f"faults that filters do not know: {format_faults(faults)}",
    ]
    empty = int(np.sum(np.diff(scans.offset) == 0))
    if empty:
        notes.append(f"{words.count(empty)} of {words.count(len(scans))} scans have no points")
    return notes
