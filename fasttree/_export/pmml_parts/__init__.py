"""Parts of PMML documents."""
