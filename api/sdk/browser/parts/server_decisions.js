// Part: decisions of the server, on patterns that are too large for a browser.

import { askServer } from "../server_decisions.js";

PARTS.askServer = askServer;
