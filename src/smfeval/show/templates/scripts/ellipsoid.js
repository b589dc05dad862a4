// Covariances as ellipsoids: a sphere seen through the root of the covariance.

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

/** Three great circles as one line with gaps. */
function circles(root, radius, centre = [0, 0, 0]) {
  const around = Array.from({ length: 49 }, (_, i) => (Math.PI * i) / 24);
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

/** Surfaces of ellipsoids as the triangles of one mesh; each has `rings` by `turns` points. */
function surface(ellipsoids, turns = 24, rings = 12) {
  const points = [], triangles = [];
  for (const { root, radius, centre = [0, 0, 0] } of ellipsoids) {
    const first = points.length;
    for (let ring = 0; ring <= rings; ring++) {
      for (let turn = 0; turn < turns; turn++) {
        const polar = (Math.PI * ring) / rings, around = (2 * Math.PI * turn) / turns;
        const onSphere = [
          Math.sin(polar) * Math.cos(around), Math.sin(polar) * Math.sin(around), Math.cos(polar),
        ];
        points.push(through(root, onSphere, radius).map((value, i) => value + centre[i]));
        if (ring === rings) continue;
        const next = (turn + 1) % turns, here = first + ring * turns, below = here + turns;
        triangles.push([here + turn, here + next, below + turn]);
        triangles.push([here + next, below + next, below + turn]);
      }
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
