"""The survey: measure taenite beside its peers, with every value checked first.

Nothing in the library imports this package. It reads top down as: ``cases`` say what is measured,
``adapters`` say how a backend runs it, ``worker`` and ``client`` are the two ends of a pipe, ``run``
drives them through a ``schedule``, ``stats`` and ``validity`` judge the samples, ``record`` and
``table`` show them.
"""
