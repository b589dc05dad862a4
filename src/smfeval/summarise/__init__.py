"""SUMMARISE a track: series in, number and interval out."""
