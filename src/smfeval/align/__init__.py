"""ONE FRAME: the same body (extrinsic), and the same world (gauge and fit)."""
