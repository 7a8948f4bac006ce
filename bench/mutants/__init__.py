"""Mutants of the engine's headers and of Python files: do the tests notice one changed operator?"""
