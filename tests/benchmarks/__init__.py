"""Measurements, each a module with ``main(arguments)``; run all or some with ``python -m tests.benchmarks [NAME ...]``."""
