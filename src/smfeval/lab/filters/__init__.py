"""FILTERS: odometry that runs on a recording; one file each, one table."""
