"""Effects written another way where XLA is slow at the plain one; each file is named like its row.

The plain rules stand in `lowering/`; which path is taken is said in `path.py`.
"""
