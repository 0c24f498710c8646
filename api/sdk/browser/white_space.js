// White space of Unicode, which differs from that of \s by these characters.

const SPACE = "(?:[^\\S\ufeff]|[\x1c-\x1f\x85])+";
export const SPACE_AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "g");
