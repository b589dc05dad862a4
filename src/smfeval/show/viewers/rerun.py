"""A scene as a recording for Rerun (.rrd): paths, ellipsoids and series on two timelines.

`stamp` is the time that the files have, `elapsed` that since the first of them. Entities are
`/reference/path`, `/NAME/path`, `/NAME/position`, `/NAME/ellipsoid` and `/NAME/scores/NUMBER`; the
recording brings a layout along: the scene, the errors and the NEES under each other.
"""

from pathlib import Path
from typing import Any

import numpy as np

from smfeval.io.atomic import replacing
from smfeval.maths.arrays import Floats, Ints
from smfeval.show.viewers.scene import OUTSIDE_COLOUR, ScenePath, SceneRun, ViewerScene

APPLICATION = "smfeval"
LINE_PIXELS, POINT_PIXELS = 1.5, 4.0
ELLIPSOID_ALPHA = 128  # of 255
PLOTS = {  # title of a plot, and the numbers in it
    "position error (m)": ("error_m", "reported_m"),
    "NEES": ("nees", "nees_95"),
}


def write(scene: ViewerScene, path: Path) -> None:
    """Write a scene to a recording."""
    import rerun  # noqa: PLC0415  an extra

    with replacing(path) as temporary:
        recording = rerun.RecordingStream(APPLICATION)
        recording.save(temporary, default_blueprint=_layout(scene))
        for each in (scene.reference, *scene.runs):
            _log_path(rerun, recording, each, scene.start_ns)
        for run in scene.runs:
            _log_ellipsoids(rerun, recording, run, scene.start_ns)
            _log_series(rerun, recording, run, scene.start_ns)
        recording.disconnect()  # waits until all is written


def _layout(scene: ViewerScene) -> Any:
    from rerun import blueprint  # noqa: PLC0415

    plots = [
        blueprint.TimeSeriesView(
            name=title,
            origin="/",
            contents=[f"/{run.name}/scores/{name}" for run in scene.runs for name in names],
        )
        for title, names in PLOTS.items()
    ]
    drawn = ("path", "position", "ellipsoid")
    contents = [f"/{each.name}/{what}" for each in (scene.reference, *scene.runs) for what in drawn]
    space = blueprint.Spatial3DView(name="scene", origin="/", contents=contents)
    return blueprint.Blueprint(
        blueprint.Vertical(space, *plots, row_shares=[2, *(1 for _ in plots)]),
        collapse_panels=True,
    )


def _times(rerun: Any, stamp: Ints, start_ns: int) -> list[Any]:
    return [
        rerun.TimeColumn("stamp", timestamp=stamp.astype("datetime64[ns]")),
        rerun.TimeColumn("elapsed", duration=(stamp - start_ns).astype("timedelta64[ns]")),
    ]


def _log_path(rerun: Any, recording: Any, path: ScenePath, start_ns: int) -> None:
    colour = _rgb(path.colour)
    pixels = rerun.Radius.ui_points
    line = rerun.LineStrips3D(path.strips, colors=colour, radii=pixels(LINE_PIXELS))
    recording.log(f"/{path.name}/path", line, static=True)
    style = rerun.Points3D.from_fields(colors=colour, radii=pixels(POINT_PIXELS))
    recording.log(f"/{path.name}/position", style, static=True)
    points = rerun.Points3D.columns(positions=path.position)
    recording.send_columns(
        f"/{path.name}/position", indexes=_times(rerun, path.stamp, start_ns), columns=points
    )


def _log_ellipsoids(rerun: Any, recording: Any, run: SceneRun, start_ns: int) -> None:
    found = run.ellipsoids
    if found is None:
        return
    entity = f"/{run.name}/ellipsoid"
    own, outside = ([*_rgb(each), ELLIPSOID_ALPHA] for each in (run.colour, OUTSIDE_COLOUR))
    style = rerun.Ellipsoids3D.from_fields(fill_mode=rerun.components.FillMode.Solid)
    recording.log(entity, style, static=True)
    columns = rerun.Ellipsoids3D.columns(
        centers=found.centre,
        half_sizes=found.half_axes,
        quaternions=found.rotation,
        colors=np.where(found.outside[:, None], outside, own).astype(np.uint8),
    )
    recording.send_columns(entity, indexes=_times(rerun, found.stamp, start_ns), columns=columns)


def _log_series(rerun: Any, recording: Any, run: SceneRun, start_ns: int) -> None:
    for name, values in run.series.items():
        entity = f"/{run.name}/scores/{name}"
        style = rerun.SeriesLines(colors=_rgb(run.colour), names=f"{run.title} {name}")
        recording.log(entity, style, static=True)
        kept, stamp = _finite(values, run.stamp)
        recording.send_columns(
            entity,
            indexes=_times(rerun, stamp, start_ns),
            columns=rerun.Scalars.columns(scalars=kept),
        )


def _finite(values: Floats, stamp: Ints) -> tuple[Floats, Ints]:
    """Values that are numbers, with their stamps."""
    good = np.isfinite(values)
    return values[good], stamp[good]


def _rgb(text: str) -> list[int]:
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]
