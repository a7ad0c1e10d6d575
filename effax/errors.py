"""Errors: the classes of what this library refuses, under JAX's names."""

from effax.backends.xla.client import XlaRuntimeError as JaxRuntimeError
from effax.effects.errors import ArraySizeError as ArraySizeError
from effax.effects.errors import CheckpointError as CheckpointError
from effax.effects.errors import CollectiveDivergenceError as CollectiveDivergenceError
from effax.effects.errors import ConcretizationTypeError as ConcretizationTypeError
from effax.effects.errors import EffaxError as EffaxError
from effax.effects.errors import EscapedCarrierError as EscapedCarrierError
from effax.effects.errors import ExportError as ExportError
from effax.effects.errors import FixpointError as FixpointError
from effax.effects.errors import ForkedProcessError as ForkedProcessError
from effax.effects.errors import (
    InconclusiveDimensionOperation as InconclusiveDimensionOperation,
)
from effax.effects.errors import JAXIndexError as JAXIndexError
from effax.effects.errors import JaxprTypeError as JaxprTypeError
from effax.effects.errors import JAXTypeError as JAXTypeError
from effax.effects.errors import KeyReuseError as KeyReuseError
from effax.effects.errors import LeakedCarrierError as LeakedCarrierError
from effax.effects.errors import MissingRuleError as MissingRuleError
from effax.effects.errors import NonConcreteBooleanIndexError as NonConcreteBooleanIndexError
from effax.effects.errors import ProcessLostError as ProcessLostError
from effax.effects.errors import ProcessTimeoutError as ProcessTimeoutError
from effax.effects.errors import ProgramDisagreementError as ProgramDisagreementError
from effax.effects.errors import ResumptionError as ResumptionError
from effax.effects.errors import RuleResultError as RuleResultError
from effax.effects.errors import ShardingTypeError as ShardingTypeError
from effax.effects.errors import SymbolicShapeError as SymbolicShapeError
from effax.effects.errors import TracerArrayConversionError as TracerArrayConversionError
from effax.effects.errors import TracerBoolConversionError as TracerBoolConversionError
from effax.effects.errors import TracerIntegerConversionError as TracerIntegerConversionError
from effax.effects.errors import UnboundAxisError as UnboundAxisError
from effax.effects.errors import UnexpectedTracerError as UnexpectedTracerError
from effax.effects.errors import UnhandledEffectError as UnhandledEffectError
from effax.effects.errors import UnsupportedDerivativeError as UnsupportedDerivativeError
from effax.effects.frames import full_traceback as full_traceback
from effax.effects.promotion import TypePromotionError as TypePromotionError

__all__ = [
    "ArraySizeError",
    "CheckpointError",
    "CollectiveDivergenceError",
    "ConcretizationTypeError",
    "EffaxError",
    "EscapedCarrierError",
    "ExportError",
    "FixpointError",
    "ForkedProcessError",
    "InconclusiveDimensionOperation",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "LeakedCarrierError",
    "MissingRuleError",
    "NonConcreteBooleanIndexError",
    "ProcessLostError",
    "ProcessTimeoutError",
    "ProgramDisagreementError",
    "ResumptionError",
    "RuleResultError",
    "ShardingTypeError",
    "SymbolicShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "TypePromotionError",
    "UnboundAxisError",
    "UnexpectedTracerError",
    "UnhandledEffectError",
    "UnsupportedDerivativeError",
    "full_traceback",
]
__dir__ = __all__.copy
