import { useMemo, useState } from "preact/hooks";
import { formatShare } from "../format.ts";
import { runPath } from "../live/api.ts";
import { useLoaded } from "../live/use_loaded.ts";
import { go, useRoute } from "../live/route.ts";
import { Chart } from "../charts/chart.tsx";
import { Failure } from "../parts/failure.tsx";
import { Head } from "../parts/head.tsx";
import { StepTools } from "../parts/step_tools.tsx";
import { confusionShares } from "./confusion_shares.ts";
import type { Confusion } from "../../index/read_confusion.ts";
import type { RunView } from "../../runs/run_view.ts";

const LINES = [
  { of: "trueCorrect", label: "right, judged CORRECT", colour: 0, dash: 0 },
  { of: "trueIncorrect", label: "wrong, judged INCORRECT", colour: 2, dash: 0 },
  { of: "falseIncorrect", label: "right, judged INCORRECT", colour: 1, dash: 0 },
  { of: "falseCorrect", label: "wrong, judged CORRECT", colour: 3, dash: 0 },
] as const;

/** The verifier's confusion matrix at a step, and how it moved. */
export function ConfusionView({ run, version }: { run: RunView; version: string }) {
  const { from, to } = useRoute();
  const { answer, error } = useLoaded<{ points: Confusion[] }>(
    runPath(run.id, "confusion"),
    version,
  );
  const [place, setPlace] = useState<number | null>(null);
  const shares = useMemo(() => {
    const all = confusionShares(answer?.points ?? []);
    const within = all.filter(({ step }) => step >= (from ?? 0) && step <= (to ?? Infinity));
    return within.length > 0 ? within : all;
  }, [answer, from, to]);
  const steps = useMemo(() => shares.map(({ step }) => step), [shares]);
  const columns = useMemo(() => LINES.map(({ of }) => shares.map((one) => one[of])), [shares]);
  if (answer !== null && shares.length === 0) {
    return <p class="quiet">The verifier has not judged anything yet.</p>;
  }
  const shown = Math.min(place ?? shares.length - 1, shares.length - 1);
  return (
    <>
      <StepTools />
      <Failure error={error} />
      {shares.length > 0 && (
        <div class="confusion">
          <section aria-labelledby="matrix-title">
            <h2 id="matrix-title">Verdicts against the truth, step {shares[shown].step}</h2>
            <Matrix point={shares[shown]} />
            <label class="field">
              Step
              <input
                type="range"
                min={0}
                max={shares.length - 1}
                value={shown}
                aria-valuetext={`step ${shares[shown].step}`}
                onInput={({ currentTarget }) => {
                  const chosen = Number(currentTarget.value);
                  setPlace(chosen === shares.length - 1 ? null : chosen);
                }}
              />
            </label>
          </section>
          <Chart
            title="Over time"
            hint="shares of all verdicts"
            share
            lines={LINES}
            steps={steps}
            columns={columns}
            range={[steps[0], steps[steps.length - 1]]}
            spans={[]}
            onZoom={(range) => go(range)}
          />
        </div>
      )}
    </>
  );
}

function Matrix({ point }: { point: ReturnType<typeof confusionShares>[number] }) {
  const cell = (share: number, tone: string) => (
    <td class={tone}>
      <span class="amount" style={{ opacity: 0.15 + 0.85 * share }} aria-hidden="true" />
      <span class="share">{formatShare(share)}</span>
    </td>
  );
  return (
    <table class="matrix">
      <Head titles={["", "judged CORRECT", "judged INCORRECT"]} />
      <tbody>
        <tr>
          <th scope="row">right solution</th>
          {cell(point.trueCorrect, "right")}
          {cell(point.falseIncorrect, "wrong")}
        </tr>
        <tr>
          <th scope="row">wrong solution</th>
          {cell(point.falseCorrect, "wrong")}
          {cell(point.trueIncorrect, "right")}
        </tr>
      </tbody>
      <caption>
        Balanced accuracy {formatShare(point.balancedAccuracy)}; {formatShare(point.unparsed)}{" "}
        could not be read.
      </caption>
    </table>
  );
}
