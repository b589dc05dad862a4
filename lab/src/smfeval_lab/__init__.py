"""LAB: worlds whose answer is known, filters that report their belief, and why they overstate it.

worlds, scene, motion, sensors -> simulate -> recording -> filters -> Run -> sweep, benchmark
"""
