"""Trees: containers of leaves, flattened, mapped, compared; and classes made nodes of them."""

from effax.effects.frames import cut_at as _cut_at
from effax.effects.nodes import Partial as Partial
from effax.effects.tree import DictKey as DictKey
from effax.effects.tree import FlattenedIndexKey as FlattenedIndexKey
from effax.effects.tree import GetAttrKey as GetAttrKey
from effax.effects.tree import KeyEntry as KeyEntry
from effax.effects.tree import KeyPath as KeyPath
from effax.effects.tree import PyTreeDef as PyTreeDef
from effax.effects.tree import SequenceKey as SequenceKey
from effax.effects.tree import keystr as keystr
from effax.effects.tree import register_attrs as register_attrs
from effax.effects.tree import register_dataclass as register_dataclass
from effax.effects.tree import register_pytree_node as register_pytree_node
from effax.effects.tree import register_pytree_node_class as register_pytree_node_class
from effax.effects.tree import register_pytree_with_keys as register_pytree_with_keys
from effax.effects.tree import register_pytree_with_keys_class as register_pytree_with_keys_class
from effax.effects.tree import register_static as register_static
from effax.effects.tree import registry as default_registry
from effax.effects.tree import tree_unflatten as tree_unflatten
from effax.effects.tree import treedef_children as treedef_children
from effax.effects.tree import treedef_is_leaf as treedef_is_leaf
from effax.effects.tree import treedef_tuple as treedef_tuple
from effax.keys.leaves import all_leaves as all_leaves
from effax.keys.leaves import flatten_one_level as flatten_one_level
from effax.keys.leaves import flatten_one_level_with_keys as flatten_one_level_with_keys
from effax.keys.leaves import is_tree_node as is_tree_node
from effax.keys.leaves import tree_all as tree_all
from effax.keys.leaves import tree_broadcast as tree_broadcast
from effax.keys.leaves import tree_flatten as tree_flatten
from effax.keys.leaves import tree_flatten_with_path as tree_flatten_with_path
from effax.keys.leaves import tree_leaves as tree_leaves
from effax.keys.leaves import tree_leaves_with_path as tree_leaves_with_path
from effax.keys.leaves import tree_map as tree_map
from effax.keys.leaves import tree_map_with_path as tree_map_with_path
from effax.keys.leaves import tree_reduce as tree_reduce
from effax.keys.leaves import tree_reduce_associative as tree_reduce_associative
from effax.keys.leaves import tree_structure as tree_structure
from effax.keys.leaves import tree_transpose as tree_transpose

__all__ = [
    "DictKey",
    "FlattenedIndexKey",
    "GetAttrKey",
    "KeyEntry",
    "KeyPath",
    "Partial",
    "PyTreeDef",
    "SequenceKey",
    "all_leaves",
    "default_registry",
    "flatten_one_level",
    "flatten_one_level_with_keys",
    "is_tree_node",
    "keystr",
    "register_attrs",
    "register_dataclass",
    "register_pytree_node",
    "register_pytree_node_class",
    "register_pytree_with_keys",
    "register_pytree_with_keys_class",
    "register_static",
    "tree_all",
    "tree_broadcast",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_with_path",
    "tree_reduce",
    "tree_reduce_associative",
    "tree_structure",
    "tree_transpose",
    "tree_unflatten",
    "treedef_children",
    "treedef_is_leaf",
    "treedef_tuple",
]
__dir__ = __all__.copy

_cut_at(globals(), home=False)
