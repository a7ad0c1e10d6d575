"""Errors name the user's line, and tracebacks show the user's frames."""

import pickle
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from effax.effects import errors, frames
from effax.effects.config import config, traceback_filtering
from effax.effects.types import ShapedArray
from effax.effects.value import Value

BASES = {
    "ConcretizationTypeError": TypeError,
    "TracerBoolConversionError": errors.ConcretizationTypeError,
    "TracerIntegerConversionError": TypeError,
    "TracerArrayConversionError": TypeError,
    "NonConcreteBooleanIndexError": IndexError,
    "UnexpectedTracerError": TypeError,
    "EscapedCarrierError": errors.UnexpectedTracerError,
    "KeyReuseError": TypeError,
    "MissingRuleError": NotImplementedError,
    "UnhandledEffectError": RuntimeError,
    "UnboundAxisError": NameError,
    "UnsupportedDerivativeError": ValueError,
}


@pytest.mark.parametrize("name", BASES)
def test_bases(name):
    cls = getattr(errors, name)
    assert issubclass(cls, BASES[name])
    assert issubclass(cls, errors.EffaxError)
    error = cls("a message")
    assert str(error) == "a message"
    assert str(pickle.loads(pickle.dumps(error))) == "a message"


class Transform:
    pass


class Known(Value):
    __slots__ = ("handler", "origin", "type")

    def __init__(self):
        self.type = ShapedArray((2,), "float32")
        self.handler = Transform()
        self.origin = errors.user_frame()


@pytest.mark.parametrize(
    ("cls", "advice"),
    [
        (errors.ConcretizationTypeError, "array operations"),
        (errors.TracerBoolConversionError, "lax.cond"),
        (errors.TracerIntegerConversionError, "fori_loop"),
        (errors.TracerArrayConversionError, "effax.numpy"),
        (errors.NonConcreteBooleanIndexError, "jnp.where"),
    ],
)
def test_an_error_about_a_value_says_what_where_and_what_instead(cls, advice):
    message = str(cls(Known()))
    assert "f32[2]" in message
    assert "test_errors.py" in message
    assert "a value of Transform" in message
    assert "made at" in message
    assert advice in message


def test_an_escaped_carrier_is_named():
    value = Known()
    error = errors.UnexpectedTracerError.escaped(value)
    assert isinstance(error, errors.EscapedCarrierError)
    assert error.value is value
    assert "escaped its transform: " in str(error)


def test_user_frame_is_this_line():
    frame = errors.user_frame()
    place = errors.place(frame)
    assert place.file == __file__
    assert place.function == "test_user_frame_is_this_line"
    source = Path(__file__).read_text().splitlines()
    assert "errors.user_frame()" in source[place.line - 1]
    assert errors.describe(frame).endswith(f"test_errors.py:{place.line} ({place.function})")
    assert errors.describe(None) == "an unknown place"
    assert errors.place(None) is None


def test_user_frame_skips_the_library():
    from effax.effects.tree import tree_map

    (frame,) = tree_map(lambda _: errors.user_frame(), [0])
    assert errors.place(frame).function.endswith("<lambda>")
    code = compile(
        "from effax.effects.frames import user_frame\nf = user_frame()", frames.__file__, "exec"
    )
    scope = {}
    exec(code, scope)
    assert errors.place(scope["f"]).function == "test_user_frame_skips_the_library"


def test_user_frames_go_outwards():
    def inner():
        return errors.user_frames(2)

    names = [errors.place(f).function.rsplit(".")[-1] for f in inner()]
    assert names == ["inner", "test_user_frames_go_outwards"]


def library_function():
    """A function whose code claims to lie in the library."""
    source = "def run(f):\n    return f()\n"
    scope = {}
    exec(compile(source, frames.__file__.replace("frames", "made_up"), "exec"), scope)
    return scope["run"]


def fail():
    raise KeyError("inside")


def functions_of(error):
    return [step.name for step in traceback.extract_tb(error.__traceback__)]


def test_tracebacks_leave_the_library_out():
    run = errors.filtered(library_function())
    with pytest.raises(KeyError) as caught:
        run(lambda: errors.filtered(library_function())(fail))
    names = functions_of(caught.value)
    assert names[0] == "test_tracebacks_leave_the_library_out"
    assert names[-1] == "fail"
    assert "run" not in names
    assert "entry_point" not in names
    assert any("EFFAX_TRACEBACK_FILTERING" in note for note in caught.value.__notes__)
    assert len(caught.value.__notes__) == 1
    full = [step.name for step in traceback.extract_tb(errors.full_traceback(caught.value))]
    assert full.count("run") == 2


def test_tracebacks_in_full():
    with traceback_filtering("off"), pytest.raises(KeyError) as caught:
        errors.filtered(library_function())(fail)
    assert "run" in functions_of(caught.value)
    assert not hasattr(caught.value, "__notes__")
    with traceback_filtering("remove_frames"), pytest.raises(KeyError) as caught:
        errors.filtered(library_function())(fail)
    assert "made_up" in caught.value.__notes__[0]


def test_a_function_may_strip_by_itself():
    @errors.boundary
    def enter():
        try:
            library_function()(fail)
        except KeyError as error:
            errors.strip(error)
            raise

    with pytest.raises(KeyError) as caught:
        enter()
    assert "run" not in functions_of(caught.value)


def test_filtered_keeps_name_and_result():
    @errors.filtered
    def double(x: int) -> int:
        """Twice x."""
        return 2 * x

    assert double(3) == 6
    assert double.__name__ == "double"
    assert double.__doc__ == "Twice x."


def test_what_python_prints(tmp_path):
    script = tmp_path / "user.py"
    script.write_text(
        "from effax.effects.tree import tree_map\n"
        "from effax.effects.errors import filtered\n"
        "filtered(tree_map)(lambda x: 1 / x, [0])\n"
    )
    ran = subprocess.run(
        [sys.executable, str(script)],
        env={"PYTHONPATH": str(Path(__file__).parents[2]), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr.count("File ") == 2
    assert "ZeroDivisionError: division by zero" in ran.stderr
    assert "frames of effax are left out" in ran.stderr


def test_at_lowering():
    from effax.effects.program import Equation

    class Fake:
        row, performs, higher_order, collective = "check", (), False, False

        def __str__(self):
            return "check"

    equation = Equation(Fake(), [], {}, [], errors.user_frame())
    message = str(errors.UnhandledEffectError.at_lowering(equation))
    assert "no handler answers 'check'" in message
    assert "@extend.lowering.rule(check)" in message
    assert "test_errors.py" in message
    assert "'i'" in str(errors.UnboundAxisError.of("psum", "i"))
    assert config.traceback_filtering == "auto"
