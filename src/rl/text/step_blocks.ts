/**
 * One `<step>…</step>` of a response. Offsets are UTF-16 code units of the whole response; `end` is
 * exclusive and lies just after `</step>`.
 */
export interface StepBlock {
  text: string;
  start: number;
  end: number;
}

/**
 * The closed steps of response[from, to), in order. A `<step>` opened inside an unclosed one replaces
 * it, and a `</step>` without an opening is passed over, so steps never nest or overlap.
 */
export function findSteps(response: string, from: number, to: number): StepBlock[] {
  const steps: StepBlock[] = [];
  let openedAt = -1;
  for (const tag of response.slice(from, to).matchAll(/<\/?step>/g)) {
    const offset = from + tag.index;
    if (tag[0] === "<step>") {
      openedAt = offset;
    } else if (openedAt >= 0) {
      const text = response.slice(openedAt + "<step>".length, offset);
      steps.push({ text, start: openedAt, end: offset + tag[0].length });
      openedAt = -1;
    }
  }
  return steps;
}

/** The rest of response[from, to) when the given steps, all inside it, are cut out. */
export function withoutSteps(
  response: string,
  steps: readonly StepBlock[],
  from: number,
  to: number,
): string {
  let rest = "";
  let offset = from;
  for (const step of steps) {
    rest += response.slice(offset, step.start);
    offset = step.end;
  }
  return rest + response.slice(offset, to);
}

/**
 * Content span of the last `<name>…</name>` of a text, as [start, end), or null when none is closed.
 */
export function lastBlock(text: string, name: string): [number, number] | null {
  const opening = `<${name}>`, closing = `</${name}>`;
  const lastClosing = text.lastIndexOf(closing);
  if (lastClosing < opening.length) return null;
  const start = text.lastIndexOf(opening, lastClosing - opening.length);
  if (start < 0) return null;
  return [start + opening.length, text.indexOf(closing, start)];
}
