"""The palette of the pictures: readable, and told apart by those who do not see every colour."""

import itertools

import numpy as np
import pytest

from fasttree._explain.pictures import colours

# what a dichromat sees, in linear RGB (Machado, Oliveira and Fernandes 2009, severity 1)
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
}


def oklab(colour, sight):
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SIGHTS[sight]) @ linear, 0, 1)
    cones = [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    axes = [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    return np.array(axes) @ np.cbrt(np.array(cones) @ seen)


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize(("n_classes", "least"), [(7, 0.07), (26, 0.04)])
def test_classes_are_told_apart(sight, n_classes, least):
    seen = [oklab(colours.class_colour(label), sight) for label in range(n_classes)]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(seen, 2)) > least


@pytest.mark.parametrize("theme", [colours.LIGHT, colours.DARK], ids=["light", "dark"])
def test_text_is_readable_on_every_tint(theme):
    for share in (0.0, 0.5, 1.0):
        for colour in colours.CLASSES:
            assert colours.contrast(theme.ink, colours.mix(colour, theme.paper, colours.tint(share))) >= 4.5
    assert colours.contrast(theme.muted, theme.paper) >= 4.5


def test_the_surer_the_fuller():
    tints = [colours.tint(certainty) for certainty in (0.0, 0.3, 1.0)]
    assert tints == sorted(tints)
    assert 0 < tints[0] < tints[-1] < 1
    assert colours.tint(7.0) == tints[-1]


def test_classes_beyond_the_palette_begin_again():
    assert colours.class_colour(26) == colours.class_colour(0)


def test_mixing_goes_from_the_paper_to_the_colour():
    assert colours.mix("#0072b2", "#ffffff", 0) == "#ffffff"
    assert colours.mix("#0072b2", "#ffffff", 1) == "#0072b2"
    assert colours.mix("#000000", "#ffffff", 0.5) == "#808080"
    assert colours.contrast("#000000", "#ffffff") == pytest.approx(21)
