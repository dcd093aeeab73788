"use strict";
// A browser refuses workers for pages that are opened from a folder (file:). The search of the site then runs in a hidden
// frame, which loads the script of the worker and exchanges copies of the same messages, as a worker does. With the same
// objects, the search would take each key for no change, and forget the letters before it.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    onmessage = null;

    constructor(address) {
      super();
      this.addEventListener("message", (event) => this.onmessage?.(event));
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      document.body.append(this.frame);
      const inner = this.frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) }));
      const script = inner.document.createElement("script");
      script.src = address;
      this.loaded = new Promise((resolve) => script.addEventListener("load", () => resolve(inner)));
      inner.document.body.append(script);
    }

    postMessage(data) {
      this.loaded.then((inner) => inner.dispatchEvent(new MessageEvent("message", { data: structuredClone(data) })));
    }

    terminate() {
      this.frame.remove();
    }
  };
