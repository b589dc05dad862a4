"""The tables of a study: laid out once, then written in the formats of `formats`."""
