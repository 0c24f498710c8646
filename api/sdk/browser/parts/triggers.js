// Part: triggers other than `direct`.

import { activate, arm, disarm, listenForTriggers } from "../triggers.js";

Object.assign(PARTS, { activate, arm, disarm });
listenForTriggers();
