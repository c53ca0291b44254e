"""Names for sessions: a nickname per project and an ordinal per session.

Owns the pool of nicknames, the ordinals, and the choice of one. Pure. Must not know who holds which.
"""

from __future__ import annotations

from agent_ways.attend import layout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_POOL = """
    Acorn Agate Alder Amber Anchor Anise Antler Apricot Arbor Arrow Ash Aspen Aster Auburn Avens Azure
    Badger Balsam Bamboo Barley Basalt Basil Bay Beacon Beech Beryl Birch Bison Bittern Bluebell Borage Bracken
    Bramble Brass Brook Bryony Buckle Burdock Cairn Calla Canyon Caper Caraway Carob Cedar Celery Chalk Cherry
    Chestnut Chicory Cinder Citron Clover Cobalt Comet Copper Coral Cork Cove Cricket Crocus Cypress Dahlia Damson
    Darter Delta Dogwood Dove Drift Dune Dunlin Elder Elm Ember Ermine Falcon Fennel Fern Finch Fir
    Fjord Flax Flint Foxglove Frost Garnet Gentian Ginger Glade Gorse Granite Grebe Grove Gull Harbor Harrier
    Hawthorn Hazel Heath Hemlock Heron Hickory Holly Hornbeam Hyssop Ibis Indigo Iris Ivory Ivy Jasper Jay
    Juniper Kelp Kestrel Kite Lagoon Lantern Larch Lark Laurel Lavender Lichen Lilac Linden Linnet Lotus Lupin
    Lynx Magpie Maple Marble Marigold Marlin Marten Meadow Merlin Mica Millet Mint Mistral Moss Mulberry Myrtle
    Nectar Nettle Newt Nutmeg Oak Oakum Oasis Ochre Olive Onyx Opal Orchid Osprey Otter Pansy Pebble
    Pepper Pewter Pine Plover Plum Poplar Poppy Prairie Quail Quartz Quince Rafter Raven Reed Ripple Robin
    Rowan Rye Saffron Sage Sandpiper Sedge Sequoia Shale Siskin Slate Sorrel Sparrow Spruce Starling Sumac Swift
    Tamarind Tansy Teal Thistle Thrush Thyme Topaz Tulip Tundra Umber Vetch Violet Walnut Willow Wren Yarrow
"""
NICKNAMES = tuple(_POOL.split())
"""Plants, birds, stones and weather: short, plain ASCII, no person's name."""

_GREEK = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi
    psi omega
"""
ORDINALS = tuple(_GREEK.split())


def ordinal(number: int) -> str:
    """The ordinal of that number from 0: Greek letters, then `25` and on."""
    return ORDINALS[number] if number < len(ORDINALS) else str(number + 1)


def lowest_free(taken: Collection[int]) -> int:
    """The lowest number that is not taken."""
    number = 0
    while number in taken:
        number += 1
    return number


def nickname(project: str, taken: Collection[str]) -> str:
    """A nickname for a project: the same for the same path wherever it is not taken by another one.

    Where every nickname is taken, projects share them; their ordinals still tell sessions apart.
    """
    first = layout.fnv(project) % len(NICKNAMES)
    for step in range(len(NICKNAMES)):
        name = NICKNAMES[(first + step) % len(NICKNAMES)]
        if name not in taken:
            return name
    return NICKNAMES[first]


def display(nickname: str, number: int) -> str:
    """What a session is called: `Fern-alpha`."""
    return f"{nickname}-{ordinal(number)}"
