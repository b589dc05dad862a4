"""A scene as a recording for Rerun (.rrd): paths, ellipsoids and series on two timelines.

`stamp` is the time that the files have, `elapsed` that since the first of them. Entities are
`/reference/path`, `/NAME/path`, `/NAME/position`, `/NAME/ellipsoid` and `/NAME/scores/NUMBER`; the
recording brings a layout along: the scene, the errors and the NEES under each other.
"""

from pathlib import Path
from typing import Any

import numpy as np

from smfeval.io.atomic import writing
from smfeval.maths.arrays import Ints
from smfeval.show.viewers.scene import OUTSIDE_COLOUR, Ellipsoids, ViewerScene

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

    pixels = rerun.Radius.ui_points

    def send(entity: str, stamp: Ints, style: Any, columns: Any) -> None:
        """A style that holds for all times, and what changes with time."""
        elapsed = (stamp - scene.start_ns).astype("timedelta64[ns]")
        times = [
            rerun.TimeColumn("stamp", timestamp=stamp.astype("datetime64[ns]")),
            rerun.TimeColumn("elapsed", duration=elapsed),
        ]
        recording.log(entity, style, static=True)
        recording.send_columns(entity, indexes=times, columns=columns)

    with writing(path) as stream:
        recording = rerun.RecordingStream(APPLICATION)
        memory = recording.memory_recording()  # to a file, it tells nobody that the disk is full
        recording.send_blueprint(_layout(scene))
        for each in (scene.reference, *scene.runs):
            colour = _rgb(each.colour)
            line = rerun.LineStrips3D(each.strips, colors=colour, radii=pixels(LINE_PIXELS))
            recording.log(f"/{each.name}/path", line, static=True)
            style = rerun.Points3D.from_fields(colors=colour, radii=pixels(POINT_PIXELS))
            points = rerun.Points3D.columns(positions=each.position)
            send(f"/{each.name}/position", each.stamp, style, points)
        for run in scene.runs:
            if run.ellipsoids is not None:
                style = rerun.Ellipsoids3D.from_fields(fill_mode=rerun.components.FillMode.Solid)
                columns = _ellipsoid_columns(rerun, run.ellipsoids, run.colour)
                send(f"/{run.name}/ellipsoid", run.ellipsoids.stamp, style, columns)
            for name, values in run.series.items():
                good = np.isfinite(values)
                style = rerun.SeriesLines(colors=_rgb(run.colour), names=f"{run.title} {name}")
                columns = rerun.Scalars.columns(scalars=values[good])
                send(f"/{run.name}/scores/{name}", run.stamp[good], style, columns)
        stream.write(memory.drain_as_bytes())


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
        blueprint.Vertical(space, *plots, row_shares=[2, *(1 for _ in plots)]), collapse_panels=True
    )


def _ellipsoid_columns(rerun: Any, found: Ellipsoids, colour: str) -> Any:
    own, outside = ([*_rgb(each), ELLIPSOID_ALPHA] for each in (colour, OUTSIDE_COLOUR))
    return rerun.Ellipsoids3D.columns(
        centers=found.centre,
        half_sizes=found.half_axes,
        quaternions=found.rotation,
        colors=np.where(found.outside[:, None], outside, own).astype(np.uint8),
    )


def _rgb(text: str) -> list[int]:
    return [int(text[i : i + 2], 16) for i in (1, 3, 5)]
