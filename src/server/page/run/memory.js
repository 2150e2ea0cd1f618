import { Fragment, h } from "../vendor.js";
import { formatSize } from "../format.js";
import { runPath, send } from "../live/api.js";
import { useLoaded } from "../live/use_loaded.js";
import { PlanButton } from "../start/plan_button.js";

/**
 * @import { Plan, Run, RunConfiguration } from "../contract.ts"
 */

/**
 * GPU memory as planned and as it is.
 *
 * @param {{ run: Run }} props
 */
export function Memory({ run }) {
  /** @type {{ answer: RunConfiguration | null, error: Error | null }} */
  const { answer } = useLoaded(runPath(run.id, "config"));
  const planned = run.memory?.planned ?? null;
  const live = run.memory?.live ?? null;
  const peak = run.memory?.peak ?? null;
  const most = Math.max(planned ?? 0, live ?? 0, 1);
  /** @param {string} label @param {number | null} bytes */
  const bar = (label, bytes) =>
    h(
      "div",
      { class: "amount-row" },
      h("span", null, label),
      h(
        "span",
        { class: "amount-bar", "aria-hidden": "true" },
        h("span", { style: { width: `${100 * (bytes ?? 0) / most}%` } }),
      ),
      h("strong", null, formatSize(bytes)),
    );
  return h(
    Fragment,
    null,
    h("h2", null, "GPU memory"),
    run.memory === null ? h("p", { class: "quiet" }, "This run has not told what it takes.") : h(
      "div",
      { class: "amounts" },
      bar("planned at most", planned),
      live === null ? null : bar("held now", live),
      peak === null ? null : bar("most in use", peak),
      live === null ? null : h(
        "p",
        { class: "quiet" },
        "What a step no longer uses is held for the next one, up to what is planned.",
      ),
    ),
    run.memory === null || live !== null
      ? null
      : h("p", { class: "quiet" }, "It holds none at present."),
    answer === null ? null : h(PlanButton, {
      label: "What it is made of",
      load: async () => {
        const body = { kind: run.kind, configuration: answer.configuration };
        /** @type {Plan} */
        const plan = await (await send("POST", "/api/plan", { body })).json();
        return plan;
      },
    }),
  );
}
