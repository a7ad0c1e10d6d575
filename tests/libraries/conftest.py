"""The programs import libraries that are not installed here: `test_libraries` runs them."""

collect_ignore_glob = ["programs/*"]
