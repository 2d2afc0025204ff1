"""Which limits of whole markets a model has to know."""

from __future__ import annotations

from collections.abc import Iterable

from ..instances.entries import Market, RentalOffer
from ..instances.instance import Instance


def binding_market_limits(instance: Instance, offers: Iterable[RentalOffer]) -> list[tuple[Market, int]]:
    """Return markets and their limits, where the limits of the given offers do not imply them."""
    counted = list(offers)
    result: list[tuple[Market, int]] = []
    for market in instance.markets:
        limit = instance.limits.of(market)
        vms = sum(min(offer.limit, instance.n_tasks) for offer in counted if offer.market == market)
        if limit is not None and limit < vms:
            result.append((market, limit))
    return result
