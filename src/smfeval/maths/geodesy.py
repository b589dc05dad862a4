"""Points on the Earth: latitude, longitude, height; Earth-centred axes (ECEF); local east-north-up.

`llh` is (latitude in degrees, longitude in degrees, height above the ellipsoid in metres) and
`ecef` is metres along the Earth-fixed axes, both of WGS 84 and with any leading axes.
"""

import numpy as np

from smfeval.maths.arrays import Floats

# WGS 84, NIMA TR8350.2
EQUATOR_M = 6378137.0  # semi-major axis
FLATTENING = 1 / 298.257223563
ECCENTRICITY2 = FLATTENING * (2 - FLATTENING)

BOWRING_STEPS = 4  # two reach the last bits near the ground; four do so up to satellite orbits


def ecef_from_llh(llh: Floats) -> Floats:
    """Earth-centred position of a geodetic one. (..., 3) -> (..., 3)."""
    latitude, longitude = np.radians(llh[..., 0]), np.radians(llh[..., 1])
    height = llh[..., 2]
    sine = np.sin(latitude)
    normal_m = EQUATOR_M / np.sqrt(1 - ECCENTRICITY2 * sine**2)  # to the polar axis
    across = (normal_m + height) * np.cos(latitude)
    along = (normal_m * (1 - ECCENTRICITY2) + height) * sine
    return np.stack([across * np.cos(longitude), across * np.sin(longitude), along], axis=-1)


def llh_from_ecef(ecef: Floats) -> Floats:
    """Geodetic position of an Earth-centred one, by Bowring's iteration. (..., 3) -> (..., 3)."""
    x, y, z = np.moveaxis(ecef, -1, 0)
    across = np.hypot(x, y)
    reduced = np.arctan2(z, (1 - FLATTENING) * across)
    for _ in range(BOWRING_STEPS):
        rise = z + ECCENTRICITY2 / (1 - FLATTENING) * EQUATOR_M * np.sin(reduced) ** 3
        run = across - ECCENTRICITY2 * EQUATOR_M * np.cos(reduced) ** 3
        latitude = np.arctan2(rise, run)
        reduced = np.arctan2((1 - FLATTENING) * np.sin(latitude), np.cos(latitude))
    sine = np.sin(latitude)
    surface = EQUATOR_M * np.sqrt(1 - ECCENTRICITY2 * sine**2)
    height = across * np.cos(latitude) + z * sine - surface
    return np.stack([np.degrees(latitude), np.degrees(np.arctan2(y, x)), height], axis=-1)


def enu_axes(llh: Floats) -> Floats:
    """Rows east, north, up in Earth-centred axes: enu = axes @ (ecef - origin). -> (..., 3, 3)."""
    latitude, longitude = np.radians(llh[..., 0]), np.radians(llh[..., 1])
    up_sine, up_cosine = np.sin(latitude), np.cos(latitude)
    sine, cosine = np.sin(longitude), np.cos(longitude)
    rows = [-sine, cosine, np.zeros_like(sine)]
    rows += [-up_sine * cosine, -up_sine * sine, up_cosine]
    rows += [up_cosine * cosine, up_cosine * sine, up_sine]
    return np.stack(rows, axis=-1).reshape(*llh.shape[:-1], 3, 3)


def enu_from_ecef(ecef: Floats, origin_llh: Floats) -> Floats:
    """Position in the east-north-up axes at an origin. (..., 3), (3,) -> (..., 3)."""
    away = ecef - ecef_from_llh(origin_llh)
    return np.einsum("ij,...j->...i", enu_axes(origin_llh), away)


def ecef_from_enu(enu: Floats, origin_llh: Floats) -> Floats:
    """Earth-centred position of one in the east-north-up axes at an origin. (..., 3) both."""
    turned = np.einsum("...ji,...j->...i", enu_axes(origin_llh), enu)
    return ecef_from_llh(origin_llh) + turned
