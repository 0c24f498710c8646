// Shows the operations of the API.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  syntaxHighlight: false,
  // The button of an operation has its path in it, which is a link otherwise: a control within a control.
  plugins: [
    (/** @type {ReactSystem} */ { React }) => ({
      wrapComponents: {
        DeepLink:
          () =>
          (/** @type {{ text: string }} */ { text }) =>
            React.createElement("span", null, text),
      },
    }),
  ],
  // Otherwise the document would be sent to a checker on another host.
  validatorUrl: null,
});
