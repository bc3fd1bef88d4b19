"""Diagnosis of any command: where its threads may run, which BLAS and LAPACK routines it calls.

Nothing in the library or in the survey imports this package.
"""
