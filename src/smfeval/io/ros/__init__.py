"""ROS bags: opened and iterated, topics chosen, messages turned into arrays.

::

    intact      what can be refused before a bag is opened
    recording   a bag that is open; every way in which it can be damaged becomes one sentence
    shapes      which message types hold a belief, and where in the message
    stamps      header stamps, and receive times where there are none
    topics      candidates, and the topic to read
    poses       one pose per message, with or without a covariance
    covariance  whether it is filled, and which scan it belongs to
    particles   one cloud per message
    chain       a chain of transforms through the tf tree
"""
