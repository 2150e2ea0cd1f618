import { Failure } from "../parts/failure.tsx";
import { Judged } from "../verify/judged.tsx";
import type { Turn } from "./turn.ts";

const ENDS: Readonly<Record<string, string>> = {
  length: "It was cut off at the most tokens that it may have.",
  stopped: "Stopped.",
  abort: "The server ended it.",
  left: "The page was left before it was through.",
};

/** What a person said, and the reply as it is written. */
export function TurnView({ turn, number }: { turn: Turn; number: number }) {
  const { said, model, reply, critique, judged, isJudged, isContinued, end, error } = turn;
  const isSilent = reply === "" && critique === "";
  return (
    <div class="turn" aria-busy={end === null ? "true" : "false"}>
      <div class="said">
        <p class="who">You</p>
        <p class="text">{said}</p>
      </div>
      <div class="reply">
        <p class="who">{model}{isContinued && " goes on"}</p>
        {isJudged
          ? (
            <Judged
              texts={{ solution: reply, critique }}
              judged={judged}
              label={`Judgment ${number}`}
            />
          )
          : <p class="text">{reply}</p>}
        {end === null && isSilent && <p class="quiet">It is being asked …</p>}
        {end === "stop" && isSilent && <p class="quiet">It said nothing.</p>}
        {end !== null && ENDS[end] && <p class="quiet">{ENDS[end]}</p>}
        <Failure error={error} />
      </div>
    </div>
  );
}
