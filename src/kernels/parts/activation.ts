/** What a gate lets through; `gelu` in the form that has a tanh. */
export const activations = ["silu", "gelu"] as const;
export type Activation = (typeof activations)[number];
