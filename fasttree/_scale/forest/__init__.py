"""Trees of forests that grow in rounds."""
