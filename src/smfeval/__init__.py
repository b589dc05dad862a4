"""smfeval: does an estimator's reported uncertainty match the errors it makes?"""

__version__ = "0.1.0"
