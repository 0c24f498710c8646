// Of the scripts that a page loads before its own.
declare function SwaggerUIBundle(options: Record<string, unknown>): unknown;

// What plugins of the reference get of its React.
interface ReactSystem {
  React: { createElement(name: string, properties: null, text: string): unknown };
}
