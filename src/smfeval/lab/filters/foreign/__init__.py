"""FOREIGN: odometry that lives in an environment of its own, installed by the user.

Some odometry has a licence that ours must not be mixed with, or needs packages that clash. It is
started as a process: the recording goes in as arrays in a file, poses and covariances come out::

    start      the process, from our side: settings, files, words of failure
    process    what the other python runs; needs numpy and the odometry, and nothing of ours
    belief     a track from what came back
"""
