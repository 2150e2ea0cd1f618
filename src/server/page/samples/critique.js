import { h } from "../vendor.js";
import { cutTokens } from "./cut_tokens.js";
import { critiqueSteps } from "./step_parts.js";
import { TokenReader } from "./token_reader.js";
import { choosing, TokenText } from "./token_text.js";

/**
 * @import { CritiqueSample } from "../contract.ts"
 * @import { TokenView } from "./token_text.js"
 */

/**
 * What the verifier wrote: of the step that is open, and all of it on request.
 *
 * @param {object} props
 * @param {CritiqueSample} props.critique
 * @param {number} props.stepCount
 * @param {number | null} props.opened
 * @param {TokenView | null} [props.view] its tokens, where they are looked at
 */
export function Critique({ critique, stepCount, opened, view = null }) {
  const { text, stepJudgments } = critique;
  const isAligned = stepJudgments.length === stepCount;
  return h(
    "div",
    { class: "critique" },
    h("div", { "aria-live": "polite" }, opened === null ? null : ofStep(opened)),
    h(
      "details",
      { open: view !== null },
      h("summary", null, "The whole critique"),
      view === null ? h("p", { class: "text" }, text) : h(
        "p",
        { class: "text", onClick: choosing(view) },
        h(TokenText, { pieces: cutTokens([text], view.trained.ends)[0], view }),
      ),
    ),
    view === null ? null : h(TokenReader, { view }),
  );

  /** @param {number} step */
  function ofStep(step) {
    if (!isAligned) {
      return h(
        "p",
        { class: "notice" },
        `The critique judges ${stepJudgments.length} steps and the solution has ${stepCount}: nobody knows ` +
          "which judgment belongs to which step, and no step earned a reward.",
      );
    }
    const judgment = stepJudgments[step];
    return h(
      "p",
      { class: `of-step text ${judgment ? "right" : "wrong"}` },
      h("strong", null, `Of step ${step + 1}: `),
      critiqueSteps(text)[step] ?? text,
    );
  }
}
