/** Calls after the event loop's turn. */
export { setImmediate } from "node:timers";
