import fc from "fast-check";

const TAG_NAMES = ["think", "step", "answer", "step_verification", "final_verification"];

/** Text made of the formats' pieces in any order: far likelier to confuse a parser than random text. */
export const garbledResponse: fc.Arbitrary<string> = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...TAG_NAMES.flatMap((name) => [`<${name}>`, `</${name}>`]),
      ...["\\boxed{", "}", "\\boxed{CORRECT}", "\\boxed{INCORRECT}", "\\boxed{7}", "{", "\\", " "],
    ),
    fc.string({ maxLength: 3 }),
  ),
  { maxLength: 30 },
).map((pieces) => pieces.join(""));
