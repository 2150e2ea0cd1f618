import { useState } from "preact/hooks";
import { Critique } from "../samples/critique.tsx";
import { SolutionText } from "../samples/solution_text.tsx";
import { Verdict } from "../samples/verdict.tsx";
import type { JudgedSolution } from "../../../run/tango/judge_solution.ts";

/** A solution and its critique: as they are written, and then step by step with the judgments. */
export function Judged(
  { texts, judged, label = "Judgment" }: {
    texts: { solution: string; critique: string };
    judged: JudgedSolution | null;
    label?: string;
  },
) {
  const [opened, setOpened] = useState<number | null>(null);
  if (judged === null) {
    return (
      <>
        {texts.solution !== "" && <Written title="Solution" text={texts.solution} />}
        {texts.critique !== "" && <Written title="Critique" text={texts.critique} />}
      </>
    );
  }
  const { verdict, stepJudgments, critique: text, step, steps, solution } = judged;
  const critique = { version: 0, text, stepJudgments, verdict };
  return (
    <section class="judged" aria-live="polite" aria-label={label}>
      <p class="facts">
        <span>
          answer <code>{judged.answer ?? "none"}</code>
        </span>
        <span>
          verifier says <Verdict verdict={verdict} />
        </span>
        <span class="quiet">as it was after step {step}</span>
      </p>
      <SolutionText
        solution={{ solution, steps }}
        critique={critique}
        colour="judgment"
        opened={opened}
        open={(chosen) => setOpened(chosen === opened ? null : chosen)}
      />
      <Critique critique={critique} stepCount={steps.length} opened={opened} />
    </section>
  );
}

function Written({ title, text }: { title: string; text: string }) {
  return (
    <section>
      <h2>{title}</h2>
      <p class="text">{text}</p>
    </section>
  );
}
