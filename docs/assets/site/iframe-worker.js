"use strict";
// A browser refuses workers for pages that are opened from a folder (file:). The search of the site then runs in a hidden
// frame, which loads the script of the worker and exchanges the same messages.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.ready = new Promise((resolve) => {
        const inner = frame.contentWindow;
        inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        const script = inner.document.createElement("script");
        script.src = address;
        script.addEventListener("load", () => resolve(inner));
        inner.document.body.append(script);
      });
    }

    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
