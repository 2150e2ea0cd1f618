// silu(x) = x * sigmoid(x), element by element.
fn sigmoid(x: $VECTOR) -> $VECTOR {
  return $VECTOR(1.0) / ($VECTOR(1.0) + exp(-x));
}
