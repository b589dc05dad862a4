"""STUDY: many estimators on many tracks, from one plan to tables for a paper.

::

    plan_file    a plan (`plan`) from TOML, every mistake named; `patterns` are its paths
    draft        a plan for a folder that is laid out as people do (`layout`)
    find         the files of a plan into tasks; what is missing is listed before anything runs
    run          all tasks: in processes (`local`) or on a cluster (`cluster`)
    cache        the result of a task, known by content (`digest`) or done
    task         one estimate against one reference, or two estimates against each other
    store        results in Parquet
    tables       results over tracks by `metrics`: medians, tests, ranks (by `compare`)
    sweep_plan   a grid of settings instead; `sweep_points` scores its files
"""
