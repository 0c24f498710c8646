// Part: changes of elements, and triggers that wait for them.

import { awaitElements, changeElements } from "../element_changes.js";

Object.assign(PARTS, { awaitElements, changeElements });
