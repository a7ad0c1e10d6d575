"""References to arrays that can be written: made, read, written. See docs/references.md."""

from effax.api.references.references import addupdate as addupdate
from effax.api.references.references import empty_ref as empty_ref
from effax.api.references.references import free_ref as free_ref
from effax.api.references.references import freeze as freeze
from effax.api.references.references import get as get
from effax.api.references.references import new_ref as new_ref
from effax.api.references.references import set as set
from effax.api.references.references import swap as swap
from effax.effects.rows.state import AbstractRef as AbstractRef
from effax.effects.rows.state import Ref as Ref

__all__ = [
    "AbstractRef",
    "Ref",
    "addupdate",
    "empty_ref",
    "free_ref",
    "freeze",
    "get",
    "new_ref",
    "set",
    "swap",
]
__dir__ = __all__.copy
