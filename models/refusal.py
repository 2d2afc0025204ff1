"""A model that is not valid for an instance says so."""

from __future__ import annotations

from ..instances.errors import SpotbagError


class ModelRefusal(SpotbagError):  # noqa: N818 (a model that declines politely, not a failure)
    """The model is not valid for the instance, or too large for it; the message says why, and what is."""
