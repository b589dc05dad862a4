"""ONLINE: innovations of a filter, and a running alarm about beliefs or innovations.

    innovations  NIS against chi-squared and whiteness, per sensor, of a whole log
    eprocess     e-values of single scans and their weighted sum, valid under any dependence;
                 for white innovations tests that multiply up, begun anew at every measurement
    beliefs      two streams of beliefs, or one and a reference: their difference, scan by scan

Evidence is an e-value: a number that is at least 0 and at most 1 on average if the claim is honest.
By Markov's inequality it reaches 1 / alpha with a probability of alpha at most; here that holds for
the largest value that it ever has, so an alarm may be raised at any time.
"""
