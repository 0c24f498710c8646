// Part: changes of elements, and triggers that wait for them.

import { awaitElements, changedElements, changeElements } from "../element_changes.js";

Object.assign(PARTS, { awaitElements, changedElements, changeElements });
