/** A number or formula with what was written around it. */
export interface Quantity {
  readonly kind: "quantity";
  /** Cleaned LaTeX without unit and percent sign. */
  readonly latex: string;
  /** Canonical unit (see units.ts), or null for none or for words that are not a known unit. */
  readonly unit: string | null;
  readonly isPercent: boolean;
}

/** An equation, inequality or chain of them: `a < x <= b` has three sides and two operators. */
export interface Relation {
  readonly kind: "relation";
  readonly sides: readonly string[];
  readonly operators: readonly RelationOperator[];
}

export type RelationOperator = "=" | "<" | ">" | "\\le" | "\\ge" | "\\ne";

/** The value of an answer, read from its outside in. */
export type AnswerValue =
  | Quantity
  | Relation
  | { readonly kind: "words"; readonly text: string }
  /** Values in no brackets: `1, 2`, `3 or -3`, `\pm 3`. `isUnion` where "or" stands between them. */
  | { readonly kind: "list"; readonly items: readonly AnswerValue[]; readonly isUnion: boolean }
  | { readonly kind: "set"; readonly items: readonly AnswerValue[] }
  /** A tuple, point or interval: what it is follows from its brackets and from what it is compared with. */
  | {
    readonly kind: "group";
    readonly open: "(" | "[";
    readonly close: ")" | "]";
    readonly items: readonly AnswerValue[];
  }
  | { readonly kind: "union"; readonly parts: readonly AnswerValue[] }
  | { readonly kind: "difference"; readonly whole: AnswerValue; readonly removed: AnswerValue }
  | { readonly kind: "matrix"; readonly rows: readonly (readonly AnswerValue[])[] }
  /** A time of day such as `10:30`, equal only to the same digits. */
  | { readonly kind: "time"; readonly text: string; readonly unit: string | null };
