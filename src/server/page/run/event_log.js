import { h, useState } from "../vendor.js";
import { eventWords } from "./event_words.js";

/**
 * @import { EventLine } from "../contract.ts"
 */

/**
 * What happened, newest first.
 *
 * @param {{ events: readonly EventLine[] }} props
 */
export function EventLog({ events }) {
  const [withSteps, setWithSteps] = useState(false);
  const shown = events.filter(({ type }) => withSteps || type !== "step").reverse();
  return h(
    "section",
    { "aria-label": "Events" },
    h(
      "label",
      { class: "tools" },
      h("input", {
        type: "checkbox",
        checked: withSteps,
        onChange: () => setWithSteps(!withSteps),
      }),
      "with every step",
    ),
    shown.length === 0 ? h("p", { class: "quiet" }, "Nothing has happened yet.") : null,
    h(
      "ol",
      { class: "events" },
      shown.map((event) =>
        h(
          "li",
          { key: event.number, class: `event ${event.type}` },
          h(
            "time",
            { class: "quiet", dateTime: event.time },
            new Date(event.time).toLocaleString(),
          ),
          "step" in event ? h("span", { class: "quiet" }, `step ${event.step}`) : null,
          h("span", { class: "words" }, eventWords(event)),
        )
      ),
    ),
  );
}
