"""Exports of fitted trees to other programs: a file per format, each a function of a `Subject`."""
