import { h } from "../vendor.js";

/**
 * @import { RunEvent } from "../contract.ts"
 */

/**
 * What happened, newest first.
 *
 * @param {{ events: readonly RunEvent[] }} props
 */
export function EventLog({ events }) {
  if (events.length === 0) return h("p", { class: "quiet" }, "Nothing has happened yet.");
  return h(
    "ol",
    { class: "events", reversed: true },
    [...events].reverse().map((event) =>
      h(
        "li",
        { key: event.number, value: event.number, class: `event ${event.type}` },
        h("span", { class: "type" }, event.type),
        event.step === undefined ? null : h("span", { class: "quiet" }, `step ${event.step}`),
        h("span", { class: "text" }, describe(event)),
      )
    ),
  );
}

/** @param {RunEvent} event */
function describe({ number: _number, type: _type, step: _step, ...rest }) {
  const entries = Object.entries(rest).filter(([name]) =>
    !["metrics", "timings", "samples", "time"].includes(name)
  );
  if (entries.length === 1 && typeof entries[0][1] === "string") return entries[0][1];
  return entries.map(([name, value]) =>
    `${name} ${typeof value === "string" ? value : JSON.stringify(value)}`
  ).join(", ");
}
