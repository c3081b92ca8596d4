"""The way back of a call that does not fit: asking a model to correct it, under rules, and asking a person."""
