// Of the scripts that a page loads before its own.
declare function SwaggerUIBundle(options: Record<string, unknown>): unknown;
