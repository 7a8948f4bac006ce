"""The search for tests that look one level ahead: headers of `lookahead.pyx`."""
