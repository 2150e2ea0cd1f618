/** A YAML file as plain values, with the line that each key stands on. */

import { fileErrors, readTextFileSync } from "../../platform/system/files.ts";
import { isMap, isSeq, LineCounter, type Node, parseDocument } from "yaml";
import { UserError } from "../../base/user_error.ts";
import type { KeyPath } from "./config_problem.ts";

/** A parsed file. */
export interface YamlFile {
  /** Maps, lists, texts, numbers, booleans and nulls. */
  readonly value: unknown;
  /** `file:line` of a key, or of the nearest key around it; the file alone when it has none of them. */
  locate(path: KeyPath): string;
}

/**
 * Reads a YAML file.
 *
 * @param option that names it, for messages
 * @throws UserError when the file is missing or not YAML
 */
export function readYamlFile(path: string, option = "--config"): YamlFile {
  let text: string;
  try {
    text = readTextFileSync(path);
  } catch (error) {
    if (error instanceof fileErrors.NotFound) {
      throw new UserError(`There is no file ${path}. Check the path given with ${option}.`);
    }
    throw new UserError(`${path} cannot be read: ${(error as Error).message}`);
  }
  const lineCounter = new LineCounter();
  const document = parseDocument(text, { lineCounter, prettyErrors: false });
  const [error] = document.errors;
  if (error !== undefined) {
    const { line } = lineCounter.linePos(error.pos[0]);
    throw new UserError(`${path}:${line} is not valid YAML: ${error.message}. Mend that line.`);
  }
  return {
    value: document.toJS() ?? {},
    locate(keys) {
      const offset = offsetOf(document.contents, keys);
      return offset === null ? path : `${path}:${lineCounter.linePos(offset).line}`;
    },
  };
}

/** Where a key begins in the text; for one that is not there, the innermost around it, or null. */
function offsetOf(contents: Node | null, keys: KeyPath): number | null {
  let node: unknown = contents;
  let offset: number | null = null;
  for (const key of keys) {
    if (isMap<{ value: unknown; range?: readonly number[] | null }, unknown>(node)) {
      const pair = node.items.find((item) => item.key.value === key);
      if (pair === undefined) return offset;
      offset = pair.key.range?.[0] ?? offset;
      node = pair.value;
    } else if (isSeq<Node>(node)) {
      node = node.items[key as number];
      offset = (node as Node | undefined)?.range?.[0] ?? offset;
    } else return offset;
  }
  return offset;
}
