"""A tree as regions in the plane of two features, or on the line of one."""
