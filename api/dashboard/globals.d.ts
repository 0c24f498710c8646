// Of the scripts that a page loads before its own.
declare function vegaEmbed(
  element: HTMLElement,
  specification: unknown,
  options: Record<string, unknown>,
): Promise<unknown>;
declare function SwaggerUIBundle(options: Record<string, unknown>): unknown;
