import { readPythonString } from "./python_string.ts";

/** A value that Python writes as a literal. */
export type PythonValue =
  | { readonly kind: "none" }
  /** Whole values as bigint whatever they were written as, so that `1`, `1.0` and `True` are one. */
  | { readonly kind: "number"; readonly value: bigint | number }
  | { readonly kind: "text" | "bytes"; readonly value: string }
  | { readonly kind: "list" | "tuple" | "set"; readonly items: readonly PythonValue[] }
  | {
    readonly kind: "dictionary";
    readonly entries: readonly (readonly [PythonValue, PythonValue])[];
  };

const NUMBER =
  /[+-]?\s*(?:0[xX][\da-fA-F_]+|0[oO][0-7_]+|0[bB][01_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?)/y;
const WORD = /None|True|False|set\(\s*\)/y;
const MAXIMUM_DEPTH = 100;
/** In characters; CRUXEval's outputs are far shorter. */
const MAXIMUM_LENGTH = 20_000;

/**
 * Reads one Python literal: None, True, False, integers, floats, strings, bytes, lists, tuples (also without
 * parentheses), sets, `set()` and dictionaries. Null for anything else, such as an expression.
 */
export function parsePythonLiteral(text: string): PythonValue | null {
  if (text.length > MAXIMUM_LENGTH) return null;
  const reader = new LiteralReader(text);
  const items = reader.readMembers("");
  if (items === null || items.members.length === 0) return null;
  return items.members.length === 1 && !items.endsWithComma
    ? items.members[0]
    : { kind: "tuple", items: items.members };
}

interface Members {
  members: PythonValue[];
  endsWithComma: boolean;
}

class LiteralReader {
  #position = 0;
  #depth = 0;

  constructor(private readonly text: string) {}

  /** Comma-separated values up to a closing sign, or up to the end for the empty one. */
  readMembers(close: string): Members | null {
    const members: PythonValue[] = [];
    let endsWithComma = false;
    while (!this.#takes(close)) {
      if (members.length > 0 && !endsWithComma) return null;
      const member = this.#readValue();
      if (member === null) return null;
      members.push(member);
      endsWithComma = this.#takes(",");
    }
    return { members, endsWithComma };
  }

  #readValue(): PythonValue | null {
    if (this.#depth >= MAXIMUM_DEPTH) return null;
    this.#depth++;
    this.#skipSpace();
    const isBracketed = /[[({]/.test(this.text[this.#position] ?? "");
    const value = isBracketed ? this.#readBracketed() : this.#readAtom();
    this.#depth--;
    return value;
  }

  #readBracketed(): PythonValue | null {
    if (this.#takes("[")) {
      const content = this.readMembers("]");
      return content && { kind: "list", items: content.members };
    }
    if (this.#takes("(")) {
      const content = this.readMembers(")");
      if (content === null) return null;
      const isParenthesised = content.members.length === 1 && !content.endsWithComma;
      return isParenthesised ? content.members[0] : { kind: "tuple", items: content.members };
    }
    this.#takes("{");
    return this.#readBraced();
  }

  /** A set or a dictionary; the sign after the first value tells which. */
  #readBraced(): PythonValue | null {
    if (this.#takes("}")) return { kind: "dictionary", entries: [] };
    const keys: PythonValue[] = [];
    const values: PythonValue[] = [];
    while (true) {
      const key = this.#readValue();
      if (key === null) return null;
      keys.push(key);
      if (this.#takes(":")) {
        const value = this.#readValue();
        if (value === null) return null;
        values.push(value);
      }
      if (values.length !== 0 && values.length !== keys.length) return null;
      const hasComma = this.#takes(",");
      if (this.#takes("}")) break;
      if (!hasComma) return null;
    }
    return values.length === 0
      ? { kind: "set", items: keys }
      : { kind: "dictionary", entries: keys.map((key, i) => [key, values[i]] as const) };
  }

  #readAtom(): PythonValue | null {
    const string = readPythonString(this.text, this.#position);
    if (string !== null) {
      this.#position = string.end;
      return { kind: string.isBytes ? "bytes" : "text", value: string.value };
    }
    const word = this.#match(WORD);
    if (word === "None") return { kind: "none" };
    if (word !== null) {
      return word.startsWith("set")
        ? { kind: "set", items: [] }
        : { kind: "number", value: word === "True" ? 1n : 0n };
    }
    const number = this.#match(NUMBER);
    return number === null ? null : { kind: "number", value: numberValue(number) };
  }

  #match(pattern: RegExp): string | null {
    pattern.lastIndex = this.#position;
    const found = pattern.exec(this.text)?.[0];
    if (found === undefined) return null;
    this.#position += found.length;
    return found;
  }

  #takes(sign: string): boolean {
    this.#skipSpace();
    if (sign === "") return this.#position === this.text.length;
    if (!this.text.startsWith(sign, this.#position)) return false;
    this.#position += sign.length;
    return true;
  }

  #skipSpace(): void {
    while (/\s/.test(this.text[this.#position] ?? "")) this.#position++;
  }
}

function numberValue(written: string): bigint | number {
  const digits = written.replaceAll(
    /[\s_+]/g,
    (sign) => sign === "+" && /e\+/i.test(written) ? "+" : "",
  );
  const unsigned = digits.replace(/^[+-]/, "");
  const isNegative = digits.startsWith("-");
  if (/^(?:\d+|0[xXoObB][\da-fA-F]+)$/.test(unsigned)) {
    return isNegative ? -BigInt(unsigned) : BigInt(unsigned);
  }
  const value = isNegative ? -Number(unsigned) : Number(unsigned);
  return Number.isInteger(value) ? BigInt(value) : value;
}
