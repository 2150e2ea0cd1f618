/** What a compiler must be told about a SPIR-V module besides its words. */
export interface ModuleInterface {
  readonly entryPoint: string;
  readonly bindings: readonly { readonly binding: number; readonly isUniform: boolean }[];
}

/** Numbers of the SPIR-V specification. */
const magic = 0x07230203;
const opEntryPoint = 15;
const opVariable = 59;
const opDecorate = 71;
const bindingDecoration = 33;
const uniformClass = 2;

/**
 * Reads the entry point and the bindings of a compute shader.
 *
 * @throws Error when this is no SPIR-V or has no entry point
 */
export function readInterface(words: Uint32Array): ModuleInterface {
  if (words[0] !== magic) throw new Error("not a SPIR-V module");
  let entryPoint: string | null = null;
  const bindingOf = new Map<number, number>();
  const classOf = new Map<number, number>();
  // Five words of header, then instructions: the length in the upper half of the first word.
  for (let at = 5; at < words.length; at += words[at] >>> 16) {
    const operation = words[at] & 0xffff;
    if (operation === opEntryPoint) entryPoint = literal(words, at + 3);
    if (operation === opVariable) classOf.set(words[at + 2], words[at + 3]);
    if (operation === opDecorate && words[at + 2] === bindingDecoration) {
      bindingOf.set(words[at + 1], words[at + 3]);
    }
  }
  if (entryPoint === null) throw new Error("a SPIR-V module without an entry point");
  return {
    entryPoint,
    bindings: [...bindingOf].map(([id, binding]) => ({
      binding,
      isUniform: classOf.get(id) === uniformClass,
    })),
  };
}

function literal(words: Uint32Array, first: number): string {
  const bytes = new Uint8Array(words.buffer, words.byteOffset + first * 4);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}
