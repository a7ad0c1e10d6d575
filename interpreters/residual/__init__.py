"""Residual staging, and the splitting of programs into a known and a linear part."""

from effax.interpreters.residual import collective as collective
from effax.interpreters.residual import control as control
from effax.interpreters.residual import custom as custom
from effax.interpreters.residual import sharding as sharding
from effax.interpreters.residual.partition import planners as planners
from effax.interpreters.residual.partition import split as split
from effax.interpreters.residual.record import Record as Record
from effax.interpreters.residual.record import Tape as Tape
