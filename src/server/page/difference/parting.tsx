import { Link } from "../parts/link.tsx";
import { recordName } from "../../../run/audit/record_name.ts";
import type { RunDifferenceView } from "../../differences/difference_schema.ts";

/** The first record that two runs do not share. */
export function Parting(
  { found: { parting, lastStep, text }, ids }: {
    found: RunDifferenceView;
    ids: readonly [string, string];
  },
) {
  return (
    <section aria-labelledby="parting">
      <h2 id="parting">Where they part</h2>
      {parting === null
        ? <p>Up to step {lastStep}, the last that both have done, every record is the same.</p>
        : (
          <>
            <p>
              They part at <strong>{recordName(parting.record)}</strong>
              {parting.part === null ? `, which only ${ids[0]} has made.` : (
                <>
                  , of {lastStep} that both have done, first in <strong>{parting.part}</strong>.
                </>
              )}
            </p>
            {parting.same.length > 0 && <p>The same before it: {parting.same.join(", ")}.</p>}
            {hasSamples(parting.record.phase) && (
              <p>
                {text === null && "Of the texts that both keep of it none differs. "}
                <Link to={{ view: "samples", step: parting.record.step, group: "", page: 1 }}>
                  Samples of step {parting.record.step}, side by side
                </Link>
              </p>
            )}
          </>
        )}
    </section>
  );
}

const hasSamples = (phase: string) => ["generator", "verifier", "evaluation"].includes(phase);
