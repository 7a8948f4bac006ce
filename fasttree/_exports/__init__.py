"""Fitted trees written so that they predict elsewhere: a file per format, each a function of a `Subject`."""
