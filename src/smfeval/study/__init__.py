"""STUDY: many estimators on many tracks, from one plan to tables for a paper.

::

    plan      estimators, tracks, options; read from TOML, every mistake named
    layout    a plan from a folder that is laid out as people do
    find      files of the plan into tasks; what is missing is listed before anything runs
    task      one estimate against one reference
    run       tasks in processes, or on a cluster; results cached by content
    store     results in Parquet
    tables    results over tracks: medians, tests, ranks (by `compare.across`)
    conduct   all of that in one call
"""
