"""Effects in terms of simpler ones: definitions, expansions, and the table of derivatives."""
