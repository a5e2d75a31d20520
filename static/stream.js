// The live stream of a page: let go of while nobody sees the page, and taken up again where it was. A browser gives a server six
// connections, and streams of as many tabs would hold them all, so that no page would open any more.
(() => {
  if (!window.htmx) return;
  const LINGERS_MS = 15000; // whoever looks aside for a moment finds the page as it is
  let last = ""; // number of the last event: a connection that is opened anew does not bring the browser's Last-Event-ID

  // What the extension for streams uses of an EventSource.
  class Stream {
    constructor(url) {
      this.url = new URL(url, location.href);
      this.listeners = [];
      this.source = null;
      this.timer = 0;
      this.ended = false;
      this.seen = () => (document.hidden ? this.rest() : this.open());
      document.addEventListener("visibilitychange", this.seen);
      this.seen();
    }

    // A stream that rests is no closed one: the extension would open another.
    get readyState() { return this.ended ? EventSource.CLOSED : this.source ? this.source.readyState : EventSource.CONNECTING; }

    open() {
      clearTimeout(this.timer);
      if (this.source || this.ended) return;
      if (last) this.url.searchParams.set("after", last);
      this.source = new EventSource(this.url, { withCredentials: true });
      this.source.onopen = (event) => this.onopen?.(event);
      this.source.onerror = (event) => {
        if (this.source.readyState === EventSource.CLOSED) this.close();
        this.onerror?.(event);
      };
      this.listeners.forEach(([name, listener]) => this.source.addEventListener(name, listener));
    }

    rest() {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => { this.source?.close(); this.source = null; }, LINGERS_MS);
    }

    addEventListener(name, call) {
      const listener = (event) => { if (event.lastEventId) last = event.lastEventId; call(event); };
      this.listeners.push([name, listener, call]);
      this.source?.addEventListener(name, listener);
    }

    removeEventListener(name, call) {
      this.listeners.filter((one) => one[0] === name && one[2] === call).forEach((one) => this.source?.removeEventListener(name, one[1]));
      this.listeners = this.listeners.filter((one) => one[0] !== name || one[2] !== call);
    }

    close() {
      this.ended = true;
      clearTimeout(this.timer);
      document.removeEventListener("visibilitychange", this.seen);
      this.source?.close();
    }
  }

  htmx.createEventSource = (url) => new Stream(url);
})();
