"""Names of attributes that are no custom dimensions, as a module of the browser script: `make snippet`."""

import sys
from typing import Final

from engine.design.units import CUSTOM_OBJECTS
from pipeline.events.attributes import KNOWN_ATTRIBUTES

SOURCE: Final = (
    "// What is no custom dimension, by `make snippet` from pipeline/events/attributes.py.\n"
    f'export const KNOWN_ATTRIBUTES =\n  "{" ".join([*sorted(KNOWN_ATTRIBUTES), *CUSTOM_OBJECTS])}";\n'
)

if __name__ == "__main__":
    sys.stdout.write(SOURCE)
