"""Every page of JAX's documentation of errors, and common surprises: class, message, traceback."""

import inspect

import pytest

from effax import errors
from effax import numpy as jnp
from effax.effects.frames import full_traceback
from tests.errors import situations
from tests.errors.situations import fails

PAGES = {
    "traced_axis": (errors.ConcretizationTypeError, "static_argnums"),
    "as_float": (errors.ConcretizationTypeError, "static_argnums"),
    "length_of_arange": (errors.ConcretizationTypeError, "arange"),
    "math_function": (errors.ConcretizationTypeError, "jnp.sqrt for math.sqrt"),
    "traced_mask": (errors.NonConcreteBooleanIndexError, "jnp.where"),
    "traced_mask_at_set": (errors.NonConcreteBooleanIndexError, "jnp.where"),
    "numpy_function": (errors.TracerArrayConversionError, "effax.numpy"),
    "numpy_array_indexed": (errors.TracerArrayConversionError, "jnp.asarray(table)"),
    "branch": (errors.TracerBoolConversionError, "lax.cond"),
    "branch_on_static": (errors.TracerBoolConversionError, "static_argnames"),
    "branch_by_all": (errors.TracerBoolConversionError, "lax.cond"),
    "list_indexed": (errors.TracerIntegerConversionError, "jnp.asarray"),
    "list_method": (errors.TracerIntegerConversionError, "jnp.asarray"),
    "loop_over_range": (errors.TracerIntegerConversionError, "fori_loop"),
    "escaped": (errors.UnexpectedTracerError, "Return it from the function"),
    "escaped_from_grad": (errors.UnexpectedTracerError, "Return it from the function"),
    "escaped_into_vmap": (errors.UnexpectedTracerError, "Return it from the function"),
    "escaped_from_loop": (errors.UnexpectedTracerError, "Return it from the function"),
    "key_used_twice": (errors.KeyReuseError, "random.split"),
    "shape_from_value": (TypeError, "static"),
}

SURPRISES = {
    "item_assignment": (TypeError, r"\.at\[idx\]\.set"),
    "item_assignment_while_traced": (TypeError, r"\.at\[idx\]\.set"),
    "list_to_sum": (TypeError, "sum requires ndarray or scalar arguments.*asarray"),
    "list_to_add": (TypeError, "add requires ndarray or scalar arguments.*asarray"),
    "gradient_by_int": (TypeError, "grad requires real- or complex-valued.*allow_int"),
    "gradient_of_vector": (TypeError, r"scalar-output.*\(3,\).*jacrev"),
    "unhashable_static": (ValueError, "Non-hashable static.*pass a tuple"),
    "array_as_static": (ValueError, "Non-hashable static.*static_argnums"),
    "text_as_argument": (TypeError, "abstract array.*static_argnums"),
    "text_as_result": (TypeError, "type .*str.* must return arrays"),
    "text_added": (TypeError, "str.*not an array"),
    "shapes_do_not_fit": (TypeError, r"add got incompatible shapes.*\(3,\), \(4,\)"),
    "lengths_do_not_fit": (TypeError, r"f32\[2,3\].*equal lengths"),
    "axis_out_of_bounds": (ValueError, "axis 4 is out of bounds"),
    "slice_out_of_bounds": (TypeError, r"do not lie within i32\[3\]"),
    "unbound_axis": (NameError, "unbound axis name: i.*vmap"),
    "sizes_do_not_fit": (ValueError, "inconsistent sizes.*in_axes=None"),
    "donated_then_used": (RuntimeError, "deleted"),
    "iterated_scalar": (TypeError, "iteration over a 0-d array"),
    "formatted": (TypeError, "debug.print"),
    "array_as_condition": (ValueError, r"ambiguous.*a\.any\(\)"),
    "branches_differ": (TypeError, "same pytree structure"),
    "carry_differs": (TypeError, "carry"),
    "key_is_no_key": (TypeError, "key comes from random.key"),
    "printed_name_missing": (KeyError, "mentions 'y'.*'x'"),
    "trees_differ": (ValueError, "pytree"),
    "too_many_indices": (IndexError, "Too many indices"),
    "array_hashed": (TypeError, "unhashable"),
}


def test_every_situation_is_checked():
    written = {
        name
        for name, f in inspect.getmembers(situations, inspect.isfunction)
        if f.__module__ == situations.__name__ and name != "fails"
    }
    assert written == PAGES.keys() | SURPRISES.keys()


def only_users_frames(frames):
    return {frame.filename for frame in frames} == {situations.__file__}


@pytest.mark.parametrize("name", PAGES)
def test_a_page(name):
    cls, advice = PAGES[name]
    error, line, frames = fails(getattr(situations, name))
    assert isinstance(error, cls)
    message = str(error)
    assert f"situations.py:{line} (" in message, "the message names the line"
    why = "known only by its type", "escaped its transform", "was used before"
    assert any(reason in message for reason in why)
    assert advice in message
    assert frames[-1].lineno == line
    assert only_users_frames(frames)


@pytest.mark.parametrize("name", SURPRISES)
def test_a_surprise(name):
    cls, pattern = SURPRISES[name]
    error, line, frames = fails(getattr(situations, name))
    assert isinstance(error, cls)
    with pytest.raises(cls, match=f"(?s){pattern}"):
        raise error
    assert frames[-1].lineno == line
    assert only_users_frames(frames)


@pytest.mark.parametrize(
    ("name", "made"), [("escaped", "y = x + 1"), ("escaped_from_grad", "kept.append(x * 2)")]
)
def test_an_escaped_value_says_where_it_was_made(name, made):
    situation = getattr(situations, name)
    lines, first = inspect.getsourcelines(situation)
    line = first + next(i for i, text in enumerate(lines) if made in text)
    assert f"situations.py:{line} (" in str(fails(situation)[0]).partition("created on line")[2]


def test_an_exception_that_the_library_handled_is_not_shown():
    with pytest.raises(IndexError) as caught:
        jnp.ones(3)[0, 1]
    assert caught.value.__context__ is None


def test_an_exception_that_the_user_handles_is_shown():
    with pytest.raises(IndexError) as caught:
        try:
            {}["a"]
        except KeyError:
            jnp.ones(3)[0, 1]
    assert repr(caught.value.__context__) == "KeyError('a')"


def test_the_full_traceback_is_kept():
    error, _, frames = fails(situations.shapes_do_not_fit)
    step, files = full_traceback(error), []
    while step is not None:
        files.append(step.tb_frame.f_code.co_filename)
        step = step.tb_next
    assert len(files) > len(frames)
    assert any("traceback_filtering" in note for note in error.__notes__)
