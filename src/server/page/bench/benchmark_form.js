import { h, useState } from "../vendor.js";
import { send } from "../live/api.js";
import { go } from "../live/route.js";
import { Failure } from "../parts/failure.js";
import { describedBy, fieldProblem, ProblemOf, useProblem } from "../parts/problem_of.js";

/**
 * @import { Benchmark } from "../contract.ts"
 */

/** @typedef {Event & { currentTarget: HTMLInputElement | HTMLSelectElement }} InputEvent */

/**
 * Starts a benchmark; one goes on at a time.
 *
 * @param {{ isGoing: boolean, onBegun: () => void }} props
 */
export function BenchmarkForm({ isGoing, onBegun }) {
  const [asked, setAsked] = useState({ filter: "", seconds: "0.5", gpu: "auto" });
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const { form, elsewhere } = useProblem(error);
  const wrong = fieldProblem(error);
  /** @param {Event} event */
  const submit = async (event) => {
    event.preventDefault();
    setError(null);
    try {
      const body = { ...asked, seconds: Number(asked.seconds) };
      /** @type {Benchmark} */
      const begun = await (await send("POST", "/api/bench", { body })).json();
      onBegun();
      go({ bench: begun.name, earlier: "" });
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
    }
  };
  /** @param {"filter" | "seconds" | "gpu"} name @param {string | null} hint */
  const common = (name, hint) => ({
    id: `bench-${name}`,
    value: asked[name],
    ...describedBy(wrong, name, hint === null ? null : `bench-${name}-hint`),
    onInput: (/** @type {InputEvent} */ { currentTarget: { value } }) =>
      setAsked((known) => ({ ...known, [name]: value })),
  });
  /** @param {"filter" | "seconds" | "gpu"} name @param {string} label @param {string | null} hint */
  const field = (name, label, hint) =>
    h(
      "div",
      { class: "field" },
      h("label", { for: `bench-${name}` }, label),
      name === "gpu"
        ? h(
          "select",
          common(name, hint),
          ["auto", "native", "dawn"].map((one) => h("option", { key: one, value: one }, one)),
        )
        : h("input", { ...common(name, hint), inputMode: name === "seconds" ? "decimal" : "text" }),
      h(ProblemOf, { wrong, field: name }),
      hint === null ? null : h("p", { class: "hint", id: `bench-${name}-hint` }, hint),
    );
  return h(
    "form",
    { class: "start-form", onSubmit: submit, ref: form },
    h(
      "div",
      { class: "fields" },
      field("filter", "Only kernels with", "such as gemm, or /default for whole steps; empty: all"),
      field("seconds", "Seconds for each", null),
      field("gpu", "Engine", null),
    ),
    h(Failure, { error: elsewhere }),
    h(
      "div",
      { class: "buttons" },
      h(
        "button",
        { type: "submit", class: "primary", disabled: isGoing },
        isGoing ? "One goes on" : "Start",
      ),
    ),
  );
}
