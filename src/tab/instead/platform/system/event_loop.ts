/** Calls after the event loop's turn; timers of a tab wait for milliseconds. */
export function setImmediate(call: () => void): void {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => {
    port1.close();
    call();
  };
  port2.postMessage(null);
}
