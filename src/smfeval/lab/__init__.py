"""LAB: worlds whose answer is known, filters that report their belief, and why they overstate it.

::

    scene      surfaces and the rays that meet them
    motion     where the body is, exactly, at any time
    sensors    IMU and LiDAR of that motion, with noise and with faults that a filter is not told
    recording  what the sensors saw; written to and read from files and bags
    worlds     scenes, motions and faults by name: the easy and the adversarial set
    filters    odometry that runs on a recording and reports a belief: ours, and adapters to others
    simulate   a world and a seed become a recording
    sweep      a grid of settings, run on simulated worlds
    explained  why a run reports what it reports: credit, degeneracy, shared displacement
    casestudy  all of it in one study
"""
