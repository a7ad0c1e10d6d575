"""Convolutions under checkify: sums of products may give NaN."""

from __future__ import annotations

from effax.effects.convolution import conv_general_dilated
from effax.interpreters.checkify.checking import computes

computes(conv_general_dilated)
