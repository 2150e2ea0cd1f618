/** A string literal as read: its value, and the offset just after it. */
export interface PythonString {
  readonly value: string;
  readonly isBytes: boolean;
  readonly end: number;
}

const PIECE =
  /(b|B|r|R|u|U|br|Br|bR|BR|rb|Rb|rB|RB)?(?:'((?:[^'\\\n]|\\[^])*)'|"((?:[^"\\\n]|\\[^])*)")/y;
const ESCAPE =
  /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([0-7]{1,3})|(\n)|([\\'"abfnrtv]))/g;
const SIMPLE: Readonly<Record<string, string>> = {
  "\\": "\\",
  "'": "'",
  '"': '"',
  a: "\x07",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Reads the string literal that starts at `start`, joining literals that follow one another; or null. */
export function readPythonString(text: string, start: number): PythonString | null {
  let value = "";
  let end = start;
  let isBytes: boolean | null = null;
  while (true) {
    const from = isBytes === null ? start : skipSpace(text, end);
    PIECE.lastIndex = from;
    const match = PIECE.exec(text);
    if (match === null) return isBytes === null ? null : { value, isBytes, end };
    const [whole, prefix = "", single, double] = match;
    const isPieceBytes = /b/i.test(prefix);
    if (isBytes !== null && isPieceBytes !== isBytes) return null;
    const piece = /r/i.test(prefix) ? single ?? double : unescape(single ?? double);
    if (piece === null) return null;
    value += piece;
    isBytes = isPieceBytes;
    end = from + whole.length;
  }
}

/** Null where an escape names no character. An escape that Python does not know stays as it is written. */
function unescape(body: string): string | null {
  let isValid = true;
  const value = body.replaceAll(ESCAPE, (_, x, u, U, octal, newline, simple) => {
    if (newline !== undefined) return "";
    if (simple !== undefined) return SIMPLE[simple];
    const code = octal === undefined ? parseInt(x ?? u ?? U, 16) : parseInt(octal, 8);
    if (code <= 0x10ffff) return String.fromCodePoint(code);
    isValid = false;
    return "";
  });
  return isValid ? value : null;
}

function skipSpace(text: string, from: number): number {
  let position = from;
  while (/\s/.test(text[position] ?? "")) position++;
  return position;
}
