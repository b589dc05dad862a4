"""SCENE: surfaces with a formula, and the rays that meet them.

::

    box      boxes, and rectangles as boxes without thickness; from outside and from inside
    tube     cylinders: trunks, pillars, tunnels from inside
    ground   a plane with relief, a sum of a few sines
    sectors  which rays of a batch can meet a surface at all
    cast     the nearest of all surfaces along each ray

Rays of a batch are arrays (3, n), so that each coordinate is contiguous.
"""

from smfeval.lab.scene.box import Box
from smfeval.lab.scene.cast import Scene, cast
from smfeval.lab.scene.ground import Ground
from smfeval.lab.scene.tube import Tube

__all__ = ["Box", "Ground", "Scene", "Tube", "cast"]
