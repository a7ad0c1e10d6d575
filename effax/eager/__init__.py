"""The eager engine: calls that nothing but the bottom of the stack answers.

A function is staged and compiled once for each key of its calls, and found again by that key. A
public function of `effax.numpy` and a jitted one differ in how they make the key.
"""
