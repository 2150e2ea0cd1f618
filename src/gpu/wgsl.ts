/**
 * The small text stage between a `.wgsl` file and the compiler, and what is read back from its text.
 *
 * WGSL has no loops the compiler must unroll, no conditional compilation and no register arrays sized
 * by a constant, and the native compiler bounds every loop it sees. So a kernel may say, in comments:
 *
 *     //#for i 0 4            repeats its lines with $i = 0, 1, 2, 3
 *     //#endfor
 *     //#if BIAS && K > 4     keeps its lines when the expression over the defines is true
 *     //#else
 *     //#endif
 *     //#let NAME="b" I=K+1   in its lines, $NAME and $I stand for these values too
 *     //#endlet
 *     //#include part I=K+1   the lines of another text, in a //#let of these values if there are any
 *
 * and use `$NAME` or `$(expression)` anywhere; names are the kernel's defines, the loop variables and what `let`
 * gives them. A value of `let` holds no space.
 */

/** Values a kernel's text is specialised with. */
export type Defines = Readonly<Record<string, number | boolean | string>>;

/** A storage or uniform binding declared in a kernel's text. */
export interface Binding {
  readonly binding: number;
  readonly name: string;
  readonly kind: "uniform" | "read" | "read_write";
}

/** One 4-byte scalar of the kernel's `Params` struct. */
export interface ParameterField {
  readonly name: string;
  readonly type: "u32" | "i32" | "f32";
}

/** What the launcher must know about a kernel; the WGSL text is the one place that says it. */
export interface Reflection {
  readonly bindings: readonly Binding[];
  readonly parameters: readonly ParameterField[];
  readonly usesSubgroups: boolean;
  readonly usesF16: boolean;
  readonly usesMatrices: boolean;
  /** Whether it says how many lanes a subgroup has. */
  readonly pinsSubgroups: boolean;
}

function evaluate(expression: string, scope: Defines): number | boolean | string {
  if (!/^["\w\s+\-*/%()[\]<>=!&|.]+$/.test(expression)) {
    throw new Error(`WGSL directive: cannot evaluate "${expression}"`);
  }
  const names = [...new Set(expression.replace(/"[^"]*"/g, "").match(/\b[A-Za-z_]\w*\b/g) ?? [])]
    .filter((name) => name !== "true" && name !== "false");
  for (const name of names) {
    if (!(name in scope)) {
      throw new Error(`WGSL directive "${expression}": ${name} is not among the defines`);
    }
  }
  const body = new Function(...names, `return (${expression});`);
  return body(...names.map((name) => scope[name]));
}

function substitute(line: string, scope: Defines): string {
  return line
    .replace(/\$\(([^()]*(?:\([^()]*\)[^()]*)*)\)/g, (_, e: string) => String(evaluate(e, scope)))
    .replace(/\$([A-Za-z]\w*)/g, (_, name: string) => {
      if (!(name in scope)) throw new Error(`WGSL: $${name} is not among the defines`);
      return String(scope[name]);
    });
}

/** Texts that kernels include, by name. */
export type Parts = Readonly<Record<string, string>>;

/**
 * Puts the parts that a kernel's text includes in their places; a part may include others.
 *
 * @throws Error when a part is unknown or includes itself
 */
export function includeParts(text: string, parts: Parts, within: readonly string[] = []): string {
  return text.replace(
    /^[ \t]*\/\/#include[ \t]+(\w+)[ \t]*(.*)$/gm,
    (_, name: string, rest: string) => {
      if (!Object.hasOwn(parts, name)) throw new Error(`WGSL: there is no part ${name} to include`);
      if (within.includes(name)) throw new Error(`WGSL: the part ${name} includes itself`);
      const part = includeParts(parts[name].trimEnd(), parts, [...within, name]);
      return rest.trim() === "" ? part : `//#let ${rest}\n${part}\n//#endlet`;
    },
  );
}

/** The names and values of a `//#let`. */
function letValues(rest: string, scope: Defines): Record<string, number | boolean | string> {
  const values: Record<string, number | boolean | string> = {};
  for (const word of rest.trim().split(/\s+/)) {
    const [, name, expression] = word.match(/^([A-Za-z]\w*)=(.+)$/) ?? [];
    if (name === undefined) throw new Error(`WGSL: "//#let ${rest}", expected NAME=EXPRESSION`);
    values[name] = evaluate(expression, scope);
  }
  return values;
}

/**
 * Specialises kernel text.
 *
 * @param text WGSL with the directives above
 * @param defines values for `$NAME` and for conditions
 * @throws Error when a directive is malformed or a name unknown
 */
export function specialise(text: string, defines: Defines): string {
  const lines = text.split("\n");
  const expand = (from: number, to: number, scope: Defines): string[] => {
    const output: string[] = [];
    for (let at = from; at < to; at++) {
      const directive = lines[at].match(/^\s*\/\/#(\w+)\s*(.*)$/);
      if (!directive) {
        output.push(substitute(lines[at], scope));
        continue;
      }
      const [, word, rest] = directive;
      if (word !== "for" && word !== "if" && word !== "let") {
        throw new Error(`WGSL: stray //#${word}`);
      }
      const { middle, end } = matching(at, to, word);
      if (word === "let" && middle !== undefined) throw new Error("WGSL: //#else in //#let");
      if (word === "for") {
        const [name, first, last, ...more] = rest.trim().split(/\s+/);
        if (last === undefined || more.length > 0 || middle !== undefined) {
          throw new Error(
            `WGSL: "//#for ${rest}", expected //#for NAME FIRST LAST without //#else`,
          );
        }
        const stop = Number(evaluate(last, scope));
        for (let i = Number(evaluate(first, scope)); i < stop; i++) {
          output.push(...expand(at + 1, end, { ...scope, [name]: i }));
        }
      } else if (word === "let") {
        output.push(...expand(at + 1, end, { ...scope, ...letValues(rest, scope) }));
      } else if (evaluate(rest, scope)) {
        output.push(...expand(at + 1, middle ?? end, scope));
      } else if (middle !== undefined) {
        output.push(...expand(middle + 1, end, scope));
      }
      at = end;
    }
    return output;
  };
  const matching = (at: number, to: number, word: string): { middle?: number; end: number } => {
    let depth = 0;
    let middle: number | undefined;
    for (let i = at + 1; i < to; i++) {
      const found = lines[i].match(/^\s*\/\/#(\w+)/)?.[1];
      if (found === "for" || found === "if" || found === "let") depth++;
      else if (found === "else" && depth === 0) middle = i;
      else if (found === "endfor" || found === "endif" || found === "endlet") {
        if (depth-- === 0) {
          if (found !== `end${word}`) throw new Error(`WGSL: //#${word} closed by //#${found}`);
          return { middle, end: i };
        }
      }
    }
    throw new Error(`WGSL: //#${word} is never closed`);
  };
  return expand(0, lines.length, defines).join("\n");
}

/**
 * Reads the bindings and the parameter struct out of specialised WGSL text.
 *
 * @throws Error when `Params` holds anything but 4-byte scalars
 */
export function reflect(text: string): Reflection {
  const code = text.replace(/\/\/.*$/gm, "").replace(/\/\*[\s\S]*?\*\//g, "");
  const bindings: Binding[] = [];
  const declaration =
    /@group\(0\)\s*@binding\((\d+)\)\s*var<\s*(uniform|storage)\s*(?:,\s*(read|read_write))?\s*>\s*(\w+)\s*:/g;
  for (const match of code.matchAll(declaration)) {
    const kind = match[2] === "uniform" ? "uniform" : match[3] === "read_write" ? match[3] : "read";
    bindings.push({ binding: Number(match[1]), name: match[4], kind });
  }
  const struct = code.match(/struct\s+Params\s*\{([^}]*)\}/);
  const fields = struct?.[1].split(",").map((field) => field.trim()).filter(Boolean) ?? [];
  const parameters = fields.map((field): ParameterField => {
    const [, name, type] = field.match(/^(\w+)\s*:\s*(u32|i32|f32)$/) ?? [];
    if (!name) throw new Error(`WGSL: Params holds "${field}", expected NAME: u32, i32 or f32`);
    return { name, type: type as ParameterField["type"] };
  });
  return {
    bindings,
    parameters,
    usesSubgroups: /\b(subgroup(?!Matrix)|quad)[A-Z]\w*\s*\(|\bsubgroup_(size|invocation_id)\b/
      .test(code),
    usesF16: /\bf16\b/.test(code),
    usesMatrices: /\bsubgroup_matrix_result\b/.test(code),
    pinsSubgroups: /@subgroup_size\s*\(/.test(code),
  };
}
