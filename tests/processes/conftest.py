"""The programs that tests run in several processes are no tests themselves."""

collect_ignore_glob = ["programs/*"]
