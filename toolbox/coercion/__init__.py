"""Coercion: ``build_coercer(document, policy)`` gives a closure that makes what a parameter declares of what a model sent."""

from toolbox.coercion.builder import Coercer
from toolbox.coercion.defaults import unfit_defaults
from toolbox.coercion.families import build_coercer, coerce_enums_in
from toolbox.coercion.scalars import plain

__all__ = ["Coercer", "build_coercer", "coerce_enums_in", "plain", "unfit_defaults"]
