"""Files that are damaged or made up: a named error, whatever their bytes are."""

import json
import random

import pytest

import effax
import effax.numpy as jnp
from effax import export
from effax.errors import ExportError
from effax.experimental.serialize_executable import deserialize_and_load, serialize


def mutants(blob, count):
    """The bytes cut off, changed, doubled, or replaced; not the bytes themselves."""
    chance = random.Random(13)
    yield from (b"", b"\0" * 100, b"\x80\x04N.", blob[:-1], blob + b"\0", blob * 2, blob[::-1])
    for _ in range(count):
        at, other = chance.randrange(len(blob)), chance.randrange(1, 256)
        yield blob[:at] + bytes([blob[at] ^ other]) + blob[at + 1 :]
        yield blob[: chance.randrange(len(blob))]


def test_exported_functions():
    made = export.export(effax.jit(lambda x: {"y": jnp.sin(x) * 2}))(1.0)
    blob = bytes(made.serialize())
    for mutant in mutants(blob, 100):
        with pytest.raises(ExportError):
            export.deserialize(bytearray(mutant))
    assert float(export.deserialize(bytearray(blob)).call(0.0)["y"]) == 0


def test_executables():
    blob, *trees = serialize(effax.jit(lambda x: x + 1).lower(1.0).compile())
    for mutant in mutants(blob, 100):
        with pytest.raises(ExportError):
            deserialize_and_load(mutant, *trees)
    assert float(deserialize_and_load(blob, *trees)(1.0)) == 2


def test_texts_of_programs():
    text = str(effax.make_program(lambda x: jnp.where(x > 0, x, -x))(jnp.ones(3)))
    chance = random.Random(13)
    for _ in range(200):
        at = chance.randrange(len(text))
        changed = text[:at] + chance.choice("{}[]().:=,'\"abf0 \n\\") + text[at + 1 :]
        try:
            effax.extend.parse(changed)
        except ValueError as error:
            assert str(error)


def test_trees_nested_without_end():
    from effax.export.trees import structure

    deep = ["leaf"]
    for _ in range(100_000):
        deep = ["tuple", [deep]]
    with pytest.raises((ExportError, RecursionError)):
        structure(deep)
    for made_up in (None, [], ["dict", [], [{}]], ["node", [], "os.system", ""], json.loads("[1]")):
        with pytest.raises((ExportError, ValueError)):
            structure(made_up)
