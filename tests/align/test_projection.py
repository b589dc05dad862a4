"""What a fit leaves of a claim, against dense matrices and simulated fits."""

from dataclasses import replace

import numpy as np
import pytest

from smfeval.align import fit as fits
from smfeval.align import joint, projection
from smfeval.errors import FormatError, PairingError
from smfeval.maths import se3, so3
from smfeval.summarise import motion
from support import drifting

N = 40
GAUGES = ["se3", "yaw", "sim3", "first-pose", "none"]
MAKE = {6: drifting.dead_reckoning, 4: drifting.inertial, 3: drifting.random_walk}


WHITE = np.diag([0.02, 0.02, 0.02, 0.004, 0.004, 0.004]) ** 2  # of every scan, by itself


def with_white(world):
    """The world with white noise in its claim, and what declares it."""
    return replace(world, covariance=world.covariance + WHITE)


def dense_joint(level, world):
    """J of all pose errors in world axes, block by block. (6n, 6n)."""
    n = len(world.position)
    dense = np.zeros((n, 6, n, 6))
    i, j = np.triu_indices(n, 1)
    cross = joint.world_cross(joint.Joint("implied", level), world.claim, i, j)
    dense[i, :, j], dense[j, :, i] = cross, np.swapaxes(cross, 1, 2)
    sigma = world.claim.in_world()
    dense[range(n), :, range(n)] = sigma
    return dense.reshape(6 * n, 6 * n)


@pytest.mark.parametrize("level", [6, 4, 3])
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("space", ["position", "pose"])
def test_declared_white_noise_is_projected_as_in_the_dense_matrix(level, gauge, space, rng):
    world = MAKE[level](rng, N)
    for fitted in (N, 12):
        M = dense_fit(gauge, world.position, fitted)
        J = dense_joint(level, world) + np.kron(np.eye(N), WHITE)
        expected = blocks(M @ J @ M.T, projection.ROWS[space])
        weights = projection.fit_weights(gauge, world.position, fitted=fitted)
        found = projection.projected_covariance(
            weights,
            joint.Joint("implied", level, white=WHITE),
            with_white(world).claim,
            space=space,
        )
        assert_close(found, expected)


@pytest.mark.parametrize("level", [6, 4, 3])
def test_windows_have_the_white_noise_of_both_ends(level, rng):
    world = MAKE[level](rng, N)
    plain, declared = joint.Joint("implied", level), joint.Joint("implied", level, white=WHITE)
    i, j = np.array([0, 5, 11]), np.array([12, 17, 39])
    added = [
        joint.relative_covariance(own, each.claim, i, j)
        for own, each in ((declared, with_white(world)), (plain, world))
    ]
    arm = world.claim.position[j] - world.claim.position[i]
    carried = se3.sandwich(joint.lever(arm), WHITE) + WHITE
    back = np.swapaxes(so3.matrix(world.rotation[j]), 1, 2)
    assert_close(added[0] - added[1], joint.rotate_blocks(back, carried))
    moved = [
        motion.motion_covariance(own, each.claim, i, j)
        for own, each in ((declared, with_white(world)), (plain, world))
    ]
    up = np.array([0.0, 0.0, 1.0])
    seen = joint.integrated_covariance(level, -arm, np.broadcast_to(WHITE, (3, 6, 6)), up)
    assert_close(moved[0] - moved[1], seen[:, :3, :3] + WHITE[:3, :3])


def test_a_declaration_is_read_or_refused(rng):
    claim = with_white(MAKE[6](rng, N)).claim
    found, reason = joint.declared_joint("6 0.02 0.004", claim)
    assert (found.kind, found.level) == ("implied", 6)
    assert np.allclose(found.white, WHITE)
    assert "declared" in reason
    assert joint.declared_joint("6 0.05 0.004", claim)[0].kind == "unknown"
    for wrong in ("5 0 0", "6 0.1", "6 -1 0", "six 0 0", "6 nan 0"):
        with pytest.raises(FormatError, match="a level of 6, 4 or 3"):
            joint.declared_joint(wrong, claim)


def dense_gauge(gauge, position):
    """G of all pose errors about the world's own origin, freedom by freedom. (6n, q)."""
    n = len(position)
    columns = [np.tile([*axis, 0, 0, 0], n) for axis in np.eye(3)]
    for axis in np.eye(3)[2:] if gauge == "yaw" else np.eye(3):
        turned = np.cross(axis, position)
        columns.append(np.concatenate([turned, np.tile(axis, (n, 1))], 1).ravel())
    if gauge == "sim3":
        columns.append(np.concatenate([position, np.zeros((n, 3))], 1).ravel())
    return np.stack(columns, 1)


def dense_fit(gauge, position, fitted, weight=None):
    """M = I - G A by an explicit least-squares problem. (6n, 6n)."""
    n = len(position)
    if gauge == "none":
        return np.eye(6 * n)
    G = dense_gauge(gauge, position)
    if gauge == "first-pose":
        A = np.concatenate([np.linalg.inv(G[:6]), np.zeros((6, 6 * n - 6))], 1)
        return np.eye(6 * n) - G @ A
    V = np.zeros((n, 6, n, 6))
    for s in range(fitted):
        own = np.eye(3) if weight is None else weight[s]
        V[s, :3, s, :3] = own if np.ndim(own) else own * np.eye(3)
    V = V.reshape(6 * n, 6 * n)
    return np.eye(6 * n) - G @ np.linalg.solve(G.T @ V @ G, G.T @ V)


def blocks(dense, rows):
    n = len(dense) // 6
    each = dense.reshape(n, 6, n, 6)[range(n), :, range(n)]
    return each[:, rows, rows]


def assert_close(found, expected, relative=1e-9):
    """Entries against the sigma of their rows and columns over the whole track."""
    scale = np.sqrt(np.max(np.diagonal(expected, axis1=1, axis2=2), axis=0))
    scale = np.where(scale > 0, scale, 1.0)
    assert np.abs((found - expected) / np.outer(scale, scale)).max() < relative


@pytest.mark.parametrize("level", [6, 4, 3])
@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("space", ["position", "rotation", "pose"])
def test_the_projected_covariance_is_the_dense_one(level, gauge, space, rng):
    world = MAKE[level](rng, N)
    for fitted in (N, 12):
        M = dense_fit(gauge, world.position, fitted)
        expected = blocks(M @ dense_joint(level, world) @ M.T, projection.ROWS[space])
        weights = projection.fit_weights(gauge, world.position, fitted=fitted)
        found = projection.projected_covariance(
            weights, joint.Joint("implied", level), world.claim, space=space
        )
        assert_close(found, expected)


@pytest.mark.parametrize("level", [6, 4, 3])
def test_chunks_do_not_show(level, rng, monkeypatch):
    world = MAKE[level](rng, N)
    weights = projection.fit_weights("se3", world.position, fitted=29)
    implied = joint.Joint("implied", level)
    whole = projection.projected_covariance(weights, implied, world.claim, space="pose")
    monkeypatch.setattr(projection, "CHUNK", 7)
    found = projection.projected_covariance(weights, implied, world.claim, space="pose")
    assert_close(found, whole, 1e-12)


@pytest.mark.parametrize("kind", ["scalar", "matrix"])
@pytest.mark.parametrize("gauge", ["se3", "yaw", "sim3"])
def test_weighted_fits_are_the_dense_ones(kind, gauge, rng):
    world = drifting.dead_reckoning(rng, N)
    weight = rng.uniform(0.5, 3, size=N)
    if kind == "matrix":
        root = rng.normal(size=(N, 3, 3))
        weight = root @ np.swapaxes(root, 1, 2) + np.eye(3)
    M = dense_fit(gauge, world.position, N, weight)
    expected = blocks(M @ dense_joint(6, world) @ M.T, projection.ROWS["pose"])
    weights = projection.fit_weights(gauge, world.position, weight=weight)
    found = projection.projected_covariance(
        weights, joint.Joint("implied", 6), world.claim, space="pose"
    )
    assert_close(found, expected)


@pytest.mark.parametrize("gauge", GAUGES)
@pytest.mark.parametrize("space", ["position", "rotation", "pose"])
def test_an_uncertain_reference_is_fitted_too(gauge, space, rng):
    world = drifting.dead_reckoning(rng, N)
    root = 0.1 * rng.normal(size=(N, 6, 6))
    reference = root @ np.swapaxes(root, 1, 2)
    M = dense_fit(gauge, world.position, N)
    J = dense_joint(6, world).reshape(N, 6, N, 6)
    J[range(N), :, range(N)] += world.claim.with_covariance(reference).in_world()
    expected = blocks(M @ J.reshape(6 * N, 6 * N) @ M.T, projection.ROWS[space])
    weights = projection.fit_weights(gauge, world.position)
    found = projection.projected_covariance(
        weights, joint.Joint("implied", 6), world.claim, space=space, reference=reference
    )
    assert_close(found, expected)


def pairs_of(world, level, i, j):
    cross = joint.world_cross(joint.Joint("implied", level), world.claim, i, j)
    turn = np.zeros((len(world.position), 6, 6))
    turn[:, :3, :3] = turn[:, 3:, 3:] = np.swapaxes(so3.matrix(world.rotation), 1, 2)
    return joint.given_joint(np.stack([i, j], 1), turn[i] @ cross @ np.swapaxes(turn[j], 1, 2))


@pytest.mark.parametrize("gauge", GAUGES)
def test_all_pairs_given_determine_the_projection(gauge, rng):
    world = drifting.inertial(rng, N)
    known = pairs_of(world, 4, *np.triu_indices(N, 1))
    for fitted in (N, 12):
        weights = projection.fit_weights(gauge, world.position, fitted=fitted)
        assert projection.is_determined(weights, known, N)
        found = projection.projected_covariance(weights, known, world.claim, space="pose")
        implied = joint.Joint("implied", 4)
        expected = projection.projected_covariance(weights, implied, world.claim, space="pose")
        assert_close(found, expected)


def test_the_first_pose_needs_only_its_own_pairs(rng):
    world = drifting.dead_reckoning(rng, N)
    known = pairs_of(world, 6, np.zeros(N - 1, dtype=int), np.arange(1, N))
    weights = projection.fit_weights("first-pose", world.position)
    found = projection.projected_covariance(weights, known, world.claim)
    implied = projection.projected_covariance(weights, joint.Joint("implied", 6), world.claim)
    assert_close(found, implied)
    whole = projection.fit_weights("se3", world.position)
    with pytest.raises(PairingError, match="every scan"):
        projection.projected_covariance(whole, known, world.claim)


def test_an_unknown_joint_covariance_is_refused(rng):
    world = drifting.dead_reckoning(rng, N)
    weights = projection.fit_weights("se3", world.position)
    with pytest.raises(PairingError, match="not known"):
        projection.projected_covariance(weights, joint.UNKNOWN, world.claim)


def random_joint(world, rng):
    """Any joint covariance with the world's marginals: a random correlation between scans."""
    n = len(world.position)
    root = np.linalg.cholesky(world.claim.in_world())
    mix = rng.normal(size=(6 * n, rng.integers(6, 20))).reshape(n, 6, -1)
    own = np.linalg.cholesky(mix @ np.swapaxes(mix, 1, 2))
    factor = root @ np.linalg.solve(own, mix)  # each block of rows has the scan's covariance
    return factor.reshape(6 * n, -1) @ factor.reshape(6 * n, -1).T


@pytest.mark.parametrize("gauge", ["se3", "yaw", "sim3", "first-pose"])
def test_the_fit_errs_by_no_more_than_its_bound_whatever_the_correlations(gauge, rng):
    """Of any joint covariance with the reported marginals: Cov(theta) = A J A^T."""
    world = drifting.dead_reckoning(rng, N)
    for fitted in (N, 12):
        weights = projection.fit_weights(gauge, world.position, fitted=fitted)
        bound = projection.fit_covariance_bound(weights, world.claim)
        count = 1 if gauge == "first-pose" else fitted
        G = weights.jacobian(world.position[:count])
        A = np.concatenate(weights.weights(G, slice(0, count)), axis=1)
        for _ in range(20):
            joint_covariance = random_joint(world, rng)[: 6 * count, : 6 * count]
            least = np.linalg.eigvalsh(bound - A @ joint_covariance @ A.T)[0]
            assert least > -1e-9 * np.trace(bound)


def test_rotations_are_granted_the_error_of_a_fit_to_positions(rng):
    world = drifting.dead_reckoning(rng, N)
    weights = projection.fit_weights("se3", world.position)
    wider = world.claim.with_covariance(projection.grant_rotation(weights, world.claim, 3.0))
    granted = wider.in_world() - world.claim.in_world()
    A = weights.weights(weights.jacobian(world.position), slice(0, N))
    fitted = sum(a @ s @ a.T for a, s in zip(A, world.claim.in_world(), strict=True))
    np.testing.assert_allclose(granted[:, 3:, 3:] - 3 * fitted[3:, 3:], 0.0, atol=1e-15)
    np.testing.assert_allclose(granted[:, :3], 0.0, atol=1e-15)


def test_the_bound_of_one_fitted_pose_is_its_own_covariance(rng):
    world = drifting.dead_reckoning(rng, N)
    weights = projection.fit_weights("first-pose", world.position)
    fitted = projection.fit_covariance_bound(weights, world.claim)
    sigma = world.claim[:1].in_world()
    assert fitted == pytest.approx(sigma[0], rel=1e-12)
    arm = so3.hat(world.position[-1] - world.position[0])
    carried = np.concatenate([np.eye(3), -arm], 1)
    own = world.claim[-1:].in_world()[0, :3, :3]
    granted = projection.granted_covariance(weights, world.claim)[-1]
    assert granted == pytest.approx(own + carried @ sigma[0] @ carried.T, rel=1e-9)


@pytest.mark.parametrize("gauge", ["first-pose", "se3", "yaw"])
def test_what_a_start_grants_is_carried_to_rotations_too(gauge, rng):
    """A pose's own covariance and the fit's, by its explicit Jacobian, in all rows."""
    world = drifting.dead_reckoning(rng, N)
    weights = projection.fit_weights(gauge, world.position, fitted=12)
    granted = projection.granted_covariance(weights, world.claim, space="pose")
    alone = projection.granted_covariance(weights, world.claim, space="rotation")
    np.testing.assert_allclose(alone, granted[:, 3:, 3:], rtol=1e-12)
    G = weights.jacobian(world.position)
    C = projection.fit_covariance_bound(weights, world.claim)
    expected = world.claim.in_world() + G @ C @ np.swapaxes(G, 1, 2)
    np.testing.assert_allclose(granted, expected, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("gauge", ["se3", "yaw", "first-pose"])
def test_fitted_rotations_scatter_as_projected(gauge):
    """Simulated fits of positions: the rotation residuals have the covariance that is projected."""
    implied, nees = joint.Joint("implied", 6), []
    for seed in range(150):
        world = drifting.dead_reckoning(np.random.default_rng(seed), N)
        weights = projection.fit_weights(gauge, world.position)
        S = projection.projected_covariance(weights, implied, world.claim, space="rotation")
        M = dense_fit(gauge, world.position, N)
        left = so3.log(so3.compose(world.truth_rotation, so3.inverse(world.rotation)))
        e = np.concatenate([world.truth_position - world.position, left], axis=1)
        residual = (M @ e.ravel()).reshape(N, 6)[-1, 3:]
        nees.append(residual @ np.linalg.solve(S[-1], residual))
    assert np.mean(nees) / 3 == pytest.approx(1, abs=0.2)  # three standard errors


def test_no_fit_leaves_the_marginals(rng):
    world = drifting.dead_reckoning(rng, N)
    weights = projection.fit_weights("none", world.position)
    sigma = world.claim.in_world()[:, :3, :3]
    for found in (
        projection.projected_covariance(weights, joint.Joint("implied", 6), world.claim),
    ):
        assert found == pytest.approx(sigma, rel=1e-12)


def test_a_straight_line_leaves_its_own_rotation_alone(rng):
    position = np.arange(N)[:, None] * np.array([1.0, 0.0, 0.0])
    rotation = np.tile([0.0, 0.0, 0.0, 1.0], (N, 1))
    covariance = np.cumsum(np.tile(1e-4 * np.eye(6), (N, 1, 1)), axis=0)
    weights = projection.fit_weights("se3", position)
    found = projection.projected_covariance(
        weights,
        joint.Joint("implied", 6),
        joint.Claim.of(position, rotation, covariance),
        space="pose",
    )
    assert found[:, 3, 3] == pytest.approx(covariance[:, 3, 3])
    assert np.isfinite(found).all()


@pytest.mark.parametrize("gauge", ["se3", "yaw", "sim3"])
def test_moving_the_whole_world_turns_the_answer(gauge, rng):
    world = drifting.dead_reckoning(rng, N)
    vector = np.array([0, 0, 1.0]) if gauge == "yaw" else rng.normal(size=3)
    move = rng.normal(size=3) * 1e3, so3.exp(vector)
    position, rotation = se3.compose(move, (world.position, world.rotation))
    turn = so3.matrix(move[1])
    implied = joint.Joint("implied", 6)
    there = joint.Claim.of(position, rotation, world.covariance)
    for answer in (
        lambda claim: projection.projected_covariance(
            projection.fit_weights(gauge, claim.position), implied, claim
        ),
    ):
        assert_close(answer(there), turn @ answer(world.claim) @ turn.T, 1e-8)


def simulated_residuals(level, gauge, runs, fitted):
    """Residuals of real fits, in units of the projected covariance of each run. (runs, n, 3)."""
    white = []
    for seed in range(runs):
        world = MAKE[level](np.random.default_rng(seed), 60)
        if gauge == "first-pose":
            turn = so3.matrix(world.truth_rotation[0]) @ so3.matrix(world.rotation[0]).T
            position = world.truth_position[0] + (world.position - world.position[0]) @ turn.T
            scale = 1.0
        else:
            found = fits.FITS[gauge](world.position[:fitted], world.truth_position[:fitted])
            position, turn, scale = (
                found.aligned_position(world.position),
                found.rotation,
                found.scale,
            )
        rotation = so3.compose(so3.quaternion(turn), world.rotation)
        stretch = np.diag([scale] * 3 + [1.0] * 3)
        covariance = stretch @ world.covariance @ stretch
        weights = projection.fit_weights(gauge, position, fitted=fitted)
        projected = projection.projected_covariance(
            weights, joint.Joint("implied", level), joint.Claim.of(position, rotation, covariance)
        )
        residual = position - world.truth_position
        root = np.linalg.cholesky(projected[1:])
        white.append(np.linalg.solve(root, residual[1:, :, None])[..., 0])
    return np.array(white)


@pytest.mark.parametrize(
    ("level", "gauge", "fitted"),
    [
        (6, "se3", 60),
        (6, "sim3", 60),
        (6, "yaw", 20),
        (4, "first-pose", 60),
        (3, "first-pose", 60),
    ],
)
def test_residuals_of_simulated_fits_have_the_projected_covariance(level, gauge, fitted):
    runs = 200
    white = simulated_residuals(level, gauge, runs, fitted)
    moment = np.einsum("rni,rnj->nij", white, white) / runs
    sigma = np.sqrt(2 / runs)  # of a mean of squares of unit normals; scans share the runs
    assert np.abs(moment - np.eye(3)).max() < 5.0 * sigma
    assert np.abs(moment.mean(axis=0) - np.eye(3)).max() < 3.0 * sigma
