// Shows the server's OpenAPI document. Every URL is relative, so that the page works under any prefix.
"use strict";

fetch("openapi.json")
  .then((response) => response.json())
  .then((document) => {
    // Requests go to the server of this page. The document may name another URL, which the page may not reach.
    document.servers = [{ url: new URL("..", location.href).href.replace(/\/$/, "") }];
    SwaggerUIBundle({
      spec: document,
      dom_id: "#document",
      deepLinking: true,
      docExpansion: "list",
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      // No requests to other servers: no validator, and no document URL from the page's query.
      validatorUrl: null,
      queryConfigEnabled: false,
    });
  })
  .catch((cause) => {
    document.getElementById("document").textContent = "The document can't be read: " + cause;
  });
