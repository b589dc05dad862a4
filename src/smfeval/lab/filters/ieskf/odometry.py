"""The filter, from a recording to a run: the whole way on one screen."""

from collections.abc import Callable
from time import process_time

from smfeval import __version__
from smfeval.errors import OptionError
from smfeval.io.progress import report
from smfeval.lab.filters.ieskf.cloud import made_ready
from smfeval.lab.filters.ieskf.equations import placed
from smfeval.lab.filters.ieskf.history import Record, belief_of, recorded, telemetry_of
from smfeval.lab.filters.ieskf.intake import checked, counted, taken_in
from smfeval.lab.filters.ieskf.maps import Map
from smfeval.lab.filters.ieskf.motion import densities, moved
from smfeval.lab.filters.ieskf.noise import LEARNED
from smfeval.lab.filters.ieskf.settings import Settings
from smfeval.lab.filters.ieskf.start import at_reference, standing
from smfeval.lab.filters.ieskf.state import State
from smfeval.lab.filters.ieskf.update import updated
from smfeval.lab.filters.ieskf.voxel_map import VoxelMap, compile_loops
from smfeval.lab.filters.run import Run
from smfeval.lab.recording import Recording
from smfeval.maths.stamps import NANOSECONDS
from smfeval.track import About, Gauge


def run(
    recording: Recording,
    settings: Settings | None = None,
    *,
    known: Map | None = None,
    start: State | None = None,
) -> Run:
    """Run the filter over a recording.

    `known` is the map for map="known"; `start` a first state in place of the one that is learned
    while the body stands (or taken from the reference, in a known map).
    """
    settings = settings or Settings()
    checked(recording)
    field = _map(settings, known)
    state, stand = _start(recording, settings, start)
    intake = taken_in(recording, state.stamp, undistort=settings.undistort)
    density = densities(recording.imu_noise, settings.process_scale)
    learned, learning = LEARNED[settings.noise], _learning(settings, state.stamp)

    waited = compile_loops()
    clock = process_time()
    variance, records = settings.point_variance, list[Record]()
    for done, i in enumerate(intake.scans):
        scan = recording.scans[i]
        begin = state.stamp
        state, way = moved(state, recording.imu, scan.end, density)
        point = made_ready(scan, way, begin, recording.imu_T_lidar, settings)

        update = updated(state, point, field, variance, settings)
        state, variance = update.posterior, learned(update)
        records.append(recorded(update))

        if learning(scan.end):
            field.add(placed(point, state))
        report(done + 1, len(intake.scans))

    return Run(
        belief=belief_of(records, _about(settings), recording.name),
        telemetry=telemetry_of(records),
        cpu_s=process_time() - clock,
        notes=(*waited, *stand, *intake.notes, *_unmatched(records)),
    )


def _map(settings: Settings, known: Map | None) -> Map:
    if settings.map != "known":
        return VoxelMap(settings.map_spacing_m)
    if known is None:
        raise OptionError("map=known needs the map: run(recording, settings, known=KnownMap(...))")
    return known


def _learning(settings: Settings, begin: int) -> Callable[[int], bool]:
    """Whether the map learns at a stamp."""
    if settings.map == "incremental":
        return lambda stamp: True
    last = begin + round(settings.frozen_after_s * NANOSECONDS)
    return lambda stamp: stamp <= last


def _start(
    recording: Recording, settings: Settings, start: State | None
) -> tuple[State, tuple[str, ...]]:
    if start is not None:
        return start, ()
    if settings.map == "known":
        return at_reference(recording, settings), ()
    return standing(recording, settings)


def _about(settings: Settings) -> About:
    """The world is where the body starts, level but for the accelerometer's bias.

    The covariance does not hold that rest of tilt, since it is of the pose in the map's own world:
    so the gauge is se3, not gravity_yaw. A known map has its own world.
    """
    gauge: Gauge = "fixed" if settings.map == "known" else "se3"
    return About(body="imu", world="map", gauge=gauge, algorithm="ieskf", version=__version__)


def _unmatched(records: list[Record]) -> list[str]:
    """Words on scans that were only predicted; the first one has no map to match with."""
    empty = sum(record.points == 0 for record in records)
    blind = sum(record.points > 0 and record.matched == 0 for record in records[1:])
    notes = []
    if empty:
        notes.append(f"{counted(empty, 'scan')} without points: carried over by the IMU alone")
    if blind:
        notes.append(f"{counted(blind, 'scan')} without a match: carried over by the IMU alone")
    return notes
