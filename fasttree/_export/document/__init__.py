"""Models as JSON documents."""
