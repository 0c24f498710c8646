// Shows the operations of the API.
SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#reference",
  deepLinking: true,
  docExpansion: "none",
  filter: true,
  // Otherwise the document would be sent to a checker on another host.
  validatorUrl: null,
});
