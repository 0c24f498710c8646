// Part: experiments that redirect.

import { allowRedirects, canRedirect, follow } from "../redirect_guard.js";
import { redirectUrl } from "../redirects.js";

Object.assign(PARTS, { canRedirect, follow, redirectUrl });
PARTS.onClick(allowRedirects);
