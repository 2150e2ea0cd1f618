import { parsePythonLiteral, type PythonValue } from "./python_literal.ts";

/**
 * Whether two Python literals are equal as Python's `==` has it: `1 == 1.0 == True`, a list is no tuple,
 * dictionaries and sets have no order, text is exact. Where one of them is no literal, only the same text
 * is equal. An empty answer equals nothing.
 */
export function equalLiterals(answer: string, reference: string): boolean {
  const [left, right] = [answer.trim(), reference.trim()];
  if (left === "" || right === "") return false;
  if (left === right) return true;
  const [a, b] = [parsePythonLiteral(left), parsePythonLiteral(right)];
  return a !== null && b !== null && normalForm(a) === normalForm(b);
}

/** A text that two values share if and only if they are equal. */
function normalForm(value: PythonValue): string {
  switch (value.kind) {
    case "none":
      return "None";
    case "number":
      return `n${value.value}`;
    case "text":
      return JSON.stringify(value.value);
    case "bytes":
      return `b${JSON.stringify(value.value)}`;
    case "list":
      return `[${value.items.map(normalForm)}]`;
    case "tuple":
      return `(${value.items.map(normalForm)})`;
    case "set":
      return `{${[...new Set(value.items.map(normalForm))].sort()}}`;
    case "dictionary": {
      // The last of several equal keys keeps its value.
      const entries = new Map(
        value.entries.map(([key, entry]) => [normalForm(key), normalForm(entry)]),
      );
      return `{${[...entries].map(([key, entry]) => `${key}:${entry}`).sort()}:}`;
    }
  }
}
