"""Parts of linear algebra that cells share: calls of libraries, and algorithms in effects."""
