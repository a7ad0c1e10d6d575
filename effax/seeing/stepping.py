"""`stepper`."""
