/**
 * Cuts a worked solution in prose and LaTeX into steps: at blank lines, and after sentences. Never inside a
 * formula (`$…$`, `$$…$$`, `\(…\)`, `\[…\]`), an environment or an Asymptote drawing, so that every step
 * can be read by itself.
 */
export function splitSolution(solution: string): string[] {
  const steps: string[] = [];
  let from = 0;
  const cut = (to: number) => {
    const step = solution.slice(from, to).trim();
    if (step !== "") steps.push(step);
    from = to;
  };
  /** Closing signs of all that is open, innermost last. */
  const open: string[] = [];
  for (const { 0: mark, index } of solution.matchAll(MARKS)) {
    const end = index + mark.length;
    const isBlankLine = mark.startsWith("\n");
    // TeX has no blank line inside $…$: a dollar sign without a partner goes no further than its paragraph.
    if (isBlankLine && open.at(-1) === "$") open.pop();
    if (mark === open.at(-1)) open.pop();
    else if (mark === "$$" && open.at(-1) === "$") continue; // one formula ends and another begins
    else if (CLOSING[mark] !== undefined) open.push(CLOSING[mark]);
    else if (mark.startsWith("\\begin")) open.push(mark.replace("begin", "end"));
    if (open.length > 0) continue;
    if (isBlankLine || endsSentence(solution, from, end)) cut(end);
  }
  cut(solution.length);
  return steps;
}

/** Everything that opens, closes or ends something; an escaped character is matched to be skipped. */
const MARKS = new RegExp(
  [
    String.raw`\\(?:begin|end)\{[^}]*\}`,
    String.raw`\\[\s\S]`,
    String.raw`\[/?asy\]`,
    String.raw`\$\$?`,
    String.raw`\n[ \t]*\n\s*`,
    String.raw`[.!?]["')]*`,
  ].join("|"),
  "g",
);

const CLOSING: Record<string, string> = {
  "$": "$",
  "$$": "$$",
  "\\(": "\\)",
  "\\[": "\\]",
  "[asy]": "[/asy]",
};

/** Words that a period follows inside a sentence. */
const ABBREVIATION =
  /(?:^|[\s(~])(?:[ie]\.[ge]|cf|etc|vs|resp|[Ff]ig|[Ee]q|[Nn]o|St|Dr|Mrs?|Ms)\.$/;
/** How much of a sentence is looked at to tell whether it ends, so that long ones cost no more. */
const TAIL = 40;
/** The number of a list item, which belongs to what follows. */
const ITEM_NUMBER = /^\s*\(?\d+\.$/;

/** Whether a sentence ends here: after its mark comes white space and the beginning of another one. */
function endsSentence(text: string, from: number, end: number): boolean {
  if (!/^\s+[A-Z0-9$\\("']/.test(text.slice(end, end + 80))) return false;
  // The period of a sentence that ends in a formula stands inside it: $x = 3.$
  const tail = text.slice(Math.max(from, end - TAIL), end)
    .replace(/(?<=[.!?])\s*(?:\$\$?|\\[\])])$/, "");
  const isNumber = end - from < TAIL && ITEM_NUMBER.test(tail);
  return /[.!?]["')]*$/.test(tail) && !ABBREVIATION.test(tail) && !isNumber;
}
