  // What lane `lane` has of the tile: its places, the `last` token, and where it stages owned vectors from, of head
  // HEAD of HEADS.
  let ly = lane % $(LY)u;
  let lx = lane / $(LY)u;
  let dx = lane % $(DX)u;
  let py = lane / $(DX)u;
  let first = group.x * $(ROWS)u;
  let last = min(first + $(ROWS)u, params.tokens) - 1u;
  //#for n 0 OWNED_STEPS
  let owned$n = first + (lane + $(n*LANES)u) % $(LY)u + (lane + $(n*LANES)u) / $(LY*SLAB)u * $(LY)u;
  let ownedAt$n = (min(owned$n, last) * $HEADS + $HEAD) * $(D/4)u + (lane + $(n*LANES)u) / $(LY)u % $(SLAB)u;
  //#endfor
