"""STUDY: many estimators on many tracks, from one plan to tables for a paper.

::

    plan         estimators, tracks and options, paths as patterns, recipes
    plan_file    a plan from TOML, every mistake named
    sweep        a plan with knobs, and the points that its files make
    draft        a plan for a folder that is laid out as people do (`layout`, `datasets`)
    find         the files of a plan into tasks; what is missing is listed before anything runs
    run          all tasks, by processes or a cluster (`workers`)
    task         one estimate against one reference, or two estimates against each other
    cache        the result of a task, known by the content of its files
    store        results in Parquet
    tables       results over tracks by `metrics`: medians, tests, ranks (by `compare`)
    diff         what moved between two studies
"""
