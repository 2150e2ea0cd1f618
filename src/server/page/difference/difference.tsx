import { useState } from "preact/hooks";
import { ApiError, runPath } from "../live/api.ts";
import { useAsked } from "../live/use_asked.ts";
import { Failure } from "../parts/failure.tsx";
import { isLive } from "../run/states.ts";
import { Parting } from "./parting.tsx";
import { TwoTexts } from "./two_texts.tsx";
import { TwoWeights } from "./two_weights.tsx";
import { WentBy } from "./went_by.tsx";
import type { RunDifferenceView } from "../../differences/difference_schema.ts";
import type { RunView } from "../../runs/run_view.ts";

/** What two runs went by that differs, and where they part. */
export function Difference({ run, other }: { run: RunView; other: RunView | null }) {
  if (other === null) {
    return (
      <p>
        Tick <strong>compare</strong>{" "}
        beside another run: what the two went by that differs, and where they part, stands here. A
        run is the same as itself.
      </p>
    );
  }
  return <OfTwo key={`${run.id} ${other.id}`} a={run} b={other} />;
}

function OfTwo({ a, b }: { a: RunView; b: RunView }) {
  const [steps, setSteps] = useState([a.step, b.step]);
  const [round, setRound] = useState(0);
  const { answer, error } = useAsked<RunDifferenceView>(
    runPath(a.id, "difference", { other: b.id }),
    round,
  );
  const ids = [a.id, b.id] as const;
  const going = [a, b].filter(({ state }) => isLive(state)).map(({ id }) => id);
  const isBehind = a.step !== steps[0] || b.step !== steps[1];
  const again = () => {
    setSteps([a.step, b.step]);
    setRound(round + 1);
  };
  return (
    <div class="difference">
      {going.length > 0 && (
        <p class="quiet">
          Still going on: {going.join(" and ")}. Both are looked at as far as they had come.
        </p>
      )}
      {(error !== null || (answer !== null && isBehind)) && (
        <button type="button" onClick={again}>Look again</button>
      )}
      {error instanceof ApiError && error.status === 409
        ? <p class="notice">{error.message}</p>
        : <Failure error={error} />}
      {answer === null ? error === null && <p class="quiet">Reading both runs …</p> : (
        <>
          <WentBy found={answer} ids={ids} />
          <Parting found={answer} ids={ids} />
          {answer.text !== null && <TwoTexts text={answer.text} ids={ids} />}
          {answer.parting !== null && <TwoWeights weights={answer.weights} ids={ids} />}
        </>
      )}
    </div>
  );
}
