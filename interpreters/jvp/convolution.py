"""Derivatives of the convolution family: the product rule."""

from __future__ import annotations

from effax.effects import convolution
from effax.interpreters.jvp.dual import bilinear

bilinear(convolution.conv_general_dilated)
