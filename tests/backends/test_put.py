"""`device_put` and `copy_to_host_async`: what they refuse, and what they leave alone."""

import numpy as np
import pytest

import effax


def test_memory_is_shared_or_donated():
    x = effax.device_put(np.arange(3))
    with pytest.raises(ValueError, match="may_alias and donate cannot be True at the same time"):
        effax.device_put(x, may_alias=True, donate=True)
    assert effax.device_put(x, may_alias=True) is x
    assert effax.device_put(x, donate=True).tolist() == [0, 1, 2]


def test_copies_are_started_where_there_is_something_to_copy():
    class Holder:
        started = 0

        def copy_to_host_async(self):
            self.started += 1

    class Broken:
        def copy_to_host_async(self):
            raise AttributeError("of the object")

    holder, other = Holder(), object()
    tree = [other, 1, holder, effax.numpy.ones(2)]
    assert effax.copy_to_host_async(tree) is tree and holder.started == 1
    with pytest.raises(AttributeError, match="of the object"):
        effax.copy_to_host_async(Broken())
