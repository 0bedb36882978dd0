// Shows the document that lies beside this page. Every address is relative, so it works under any prefix.
"use strict";

fetch("openapi.json")
  .then((answer) => answer.json())
  .then((document) => {
    // What is tried here goes to where the page came from. The address in the document may be another
    // one, and the page may not reach that.
    document.servers = [{ url: new URL("..", location.href).href.replace(/\/$/, "") }];
    SwaggerUIBundle({
      spec: document,
      dom_id: "#document",
      deepLinking: true,
      docExpansion: "list",
      defaultModelsExpandDepth: 0,
      displayRequestDuration: true,
      tryItOutEnabled: true,
      // Nothing is asked of others: no validator, and no address of a document from the page's own query.
      validatorUrl: null,
      queryConfigEnabled: false,
    });
  })
  .catch((cause) => {
    document.getElementById("document").textContent = "The document can't be read: " + cause;
  });
