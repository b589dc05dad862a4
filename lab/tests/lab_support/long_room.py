"""A long room: whatever the heading, a belief in world axes is least certain along it."""

from unittest import mock

import numpy as np

from lab_support import room
from smfeval.maths import so3

HALF = np.array([14.0, 3.0, 2.5])  # few points are on the far walls: x is known least


def recording(seed, duration_s=12.0, count=3000):
    with mock.patch.object(room, "HALF", HALF):
        return room.recording(seed, duration_s=duration_s, count=count, sweep=True)


def errors(belief):
    """Errors of the position after the first believed pose is laid upon the truth."""
    position, rotation = room.pose((belief.stamp - room.START) / room.NS)
    turn = so3.matrix(rotation[0]) @ so3.matrix(belief.rotation[0]).T
    return (belief.position - belief.position[0]) @ turn.T - (position - position[0])


def off_axis(covariance):
    """Angle in degrees from the least certain direction to the long axis of the room.

    The body starts unturned in the room, so the world of a filter has the room's axes.
    """
    direction = np.linalg.eigh(covariance)[1][:, :, -1]
    return np.degrees(np.arccos(np.clip(np.abs(direction[:, 0]), 0, 1)))


def assert_axes(belief):
    """The position is least certain along the room, and so is the rotation about its length."""
    heading = np.degrees(so3.log(belief.rotation)[:, 2])
    assert np.ptp(heading) > 80
    for block in (slice(0, 3), slice(3, 6)):
        body = belief.covariance[:, block, block]
        world = so3.rotate_covariance(belief.rotation, body)
        assert np.median(off_axis(world)) < 5
        assert np.median(off_axis(body)) > 25
