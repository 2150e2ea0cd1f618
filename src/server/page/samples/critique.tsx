import { cutTokens } from "./cut_tokens.ts";
import { critiqueSteps } from "./step_parts.ts";
import { TokenReader } from "./token_reader.tsx";
import { choosing, TokenText, type TokenView } from "./token_text.tsx";
import type { CritiqueSample } from "../../../run/store/samples_log.ts";

/** What the verifier wrote: of the step that is open, and all of it on request. */
export function Critique(
  { critique, stepCount, opened, view = null }: {
    readonly critique: CritiqueSample;
    readonly stepCount: number;
    readonly opened: number | null;
    /** Its tokens, where they are looked at. */
    readonly view?: TokenView | null;
  },
) {
  const { text, stepJudgments } = critique;
  const isAligned = stepJudgments.length === stepCount;
  return (
    <div class="critique">
      <div aria-live="polite">{opened !== null && ofStep(opened)}</div>
      <details open={view !== null}>
        <summary>The whole critique</summary>
        {view === null ? <p class="text">{text}</p> : (
          <p class="text" onClick={choosing(view)}>
            <TokenText pieces={cutTokens([text], view.trained.ends)[0]} view={view} />
          </p>
        )}
      </details>
      {view !== null && <TokenReader view={view} />}
    </div>
  );

  function ofStep(step: number) {
    if (!isAligned) {
      return (
        <p class="notice">
          The critique judges {stepJudgments.length} steps and the solution has{" "}
          {stepCount}: nobody knows which judgment belongs to which step, and no step earned a
          reward.
        </p>
      );
    }
    const judgment = stepJudgments[step];
    return (
      <p class={`of-step text ${judgment ? "right" : "wrong"}`}>
        <strong>Of step {step + 1}:</strong> {critiqueSteps(text)[step] ?? text}
      </p>
    );
  }
}
