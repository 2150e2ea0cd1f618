// What a gate lets through is gate * slope(gate), element by element: SiLU, gate * sigmoid(gate), or with GELU the form of
// GELU that has a tanh, 0.5 (1 + tanh(u)) = sigmoid(2 u) with 2 u = 2 sqrt(2 / pi) (x + 0.044715 x^3).
fn sigmoid(x: $VECTOR) -> $VECTOR {
  return $VECTOR(1.0) / ($VECTOR(1.0) + exp(-x));
}
fn slope(x: $VECTOR) -> $VECTOR {
  //#if GELU
  return sigmoid(1.5957691216057308 * x * fma(0.044715 * x, x, $VECTOR(1.0)));
  //#else
  return sigmoid(x);
  //#endif
}
