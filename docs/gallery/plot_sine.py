"""
A sine curve by trees of growing depth
======================================

x
"""

import numpy as np
from matplotlib import pyplot

from fasttree import CARTRegressor

x = np.linspace(0, 5, 80)[:, None]
model = CARTRegressor(max_depth=3).fit(x, np.sin(x[:, 0]))
pyplot.plot(x[:, 0], model.predict(x))
pyplot.show()
