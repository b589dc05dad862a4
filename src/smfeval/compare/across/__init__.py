"""Over tracks: medians with intervals, paired tests, ranks; arrays in, small results out."""
