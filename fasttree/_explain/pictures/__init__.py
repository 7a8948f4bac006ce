"""Pictures of trees, as SVG, DOT and with matplotlib.

`drawing` decides what a node shows (with `cards` for its rows and `charts` for its samples), and `layout` places it.  The result
is a `scene` of boxes, lines and texts that knows no format; `svg` and `plot` draw it.  `dot` writes the same boxes for Graphviz.
`lettering` measures texts without a font, and `colours` is the palette.
"""
