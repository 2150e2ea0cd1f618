// Matrices of $MM x $MK and $MK x $MN, the tiles of A and B that they are loaded from, $STRIDE elements from one row or
// column to the next, and where the subgroups' sums lie on their way out.
alias Element = $ELEMENT;
alias Left = subgroup_matrix_left<Element, $MK, $MM>;
alias Right = subgroup_matrix_right<Element, $MN, $MK>;
alias Sums = subgroup_matrix_result<f32, $MN, $MM>;

const strideTile = $(STRIDE)u;
var<workgroup> tileA: array<Element, $(SY*RM*MM*STRIDE)>;
var<workgroup> tileB: array<Element, $(SX*RN*MN*STRIDE)>;
var<workgroup> results: array<f32, $(SX*SY*MM*MN)>;

fn resultAt(at: u32) -> vec4<f32> {
  return vec4<f32>(results[at], results[at + 1u], results[at + 2u], results[at + 3u]);
}
