// Covariances as ellipsoids: a sphere seen through the root of the covariance.

const TURNS = 24, RINGS = 12; // of the net on the sphere

/** Lower triangular L with L L' = S, from xx, xy, xz, yy, yz, zz; flat directions stay flat. */
function rootOf(covariance, scan) {
  const [xx, xy, xz, yy, yz, zz] = covariance.subarray(6 * scan, 6 * scan + 6);
  const over = (value, by) => (by > 0 ? value / by : 0);
  const a = Math.sqrt(Math.max(xx, 0));
  const b = over(xy, a), c = Math.sqrt(Math.max(yy - b * b, 0));
  const d = over(xz, a), e = over(yz - d * b, c);
  return [a, b, c, d, e, Math.sqrt(Math.max(zz - d * d - e * e, 0))];
}

/** The point of the ellipsoid that a point of the unit sphere goes to. */
const through = ([a, b, c, d, e, f], [x, y, z], radius) =>
  [radius * a * x, radius * (b * x + c * y), radius * (d * x + e * y + f * z)];

const spherePoint = (ring, turn) => {
  const polar = (Math.PI * ring) / RINGS, around = (2 * Math.PI * turn) / TURNS;
  return [Math.sin(polar) * Math.cos(around), Math.sin(polar) * Math.sin(around), Math.cos(polar)];
};

/** Three great circles as one line with gaps. */
function circles(root, radius, centre = [0, 0, 0]) {
  const around = Array.from({ length: 2 * TURNS + 1 }, (_, i) => (Math.PI * i) / TURNS);
  const onSphere = [
    (t) => [Math.cos(t), Math.sin(t), 0],
    (t) => [Math.cos(t), 0, Math.sin(t)],
    (t) => [0, Math.cos(t), Math.sin(t)],
  ];
  const points = onSphere.flatMap((circle) => [
    ...around.map((t) => through(root, circle(t), radius).map((value, i) => value + centre[i])),
    [null, null, null],
  ]);
  return columnsOf(points);
}

/** The surface as triangles of a mesh. */
function surface(root, radius) {
  const points = [], triangles = [];
  for (let ring = 0; ring <= RINGS; ring++) {
    for (let turn = 0; turn < TURNS; turn++) {
      points.push(through(root, spherePoint(ring, turn), radius));
    }
  }
  for (let ring = 0; ring < RINGS; ring++) {
    for (let turn = 0; turn < TURNS; turn++) {
      const next = (turn + 1) % TURNS, here = ring * TURNS, below = here + TURNS;
      triangles.push([here + turn, here + next, below + turn]);
      triangles.push([here + next, below + next, below + turn]);
    }
  }
  const [i, j, k] = [0, 1, 2].map((corner) => triangles.map((triangle) => triangle[corner]));
  return { ...columnsOf(points), i, j, k };
}

const columnsOf = (points) => ({
  x: points.map((point) => point[0]),
  y: points.map((point) => point[1]),
  z: points.map((point) => point[2]),
});
