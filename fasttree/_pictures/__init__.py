"""Drawn trees, from the words of a node to SVG, DOT and matplotlib.

`drawing` says what a node shows (with `cards` for its rows and `charts` for its samples), `layout` where it stands; both make a
`scene`: boxes, lines and texts that know no format.  `svg`, `dot` and `plot` write it; `lettering` measures texts without a font,
`colours` is the one palette.  `page` is apart: its tree is drawn by the browser that shows it.
"""
