  // The scores TO0_0, TO0_1, … of this lane: OWNED's row (times FACTOR) with WALKED's.
  //#for i 0 SI
  //#for j 0 4
  var $(TO)$(i)_$j = 0.0;
  //#endfor
  //#endfor
  for (var slab = 0u; slab < params.chunks; slab += $(SLAB)u) {
    workgroupBarrier();
    //#include attention_tile_stage FROM=OWNED AT="ownedAt" OFFSET="slab" FACTOR=FACTOR BASE=0 IN=LY COUNT=ROWS*SLAB STEPS=OWNED_STEPS
    //#include attention_tile_stage FROM=WALKED AT="walkedAt" OFFSET="slab" FACTOR="" BASE=SI*SLAB IN=LX COUNT=WALK*SLAB STEPS=WALKED_STEPS
    workgroupBarrier();
    //#if UNROLL
    //#for c 0 SLAB
    {
      //#include attention_tile_scores_step C=c
    }
    //#endfor
    //#else
    // $SLAB times, but Mesa must know neither that nor an array indexed by the bare counter: it would unroll.
    for (var c = 0u; c < params.chunks / $(D/4/SLAB)u; c++) {
      let chunk = min(c, $(SLAB-1)u);
      //#include attention_tile_scores_step C="chunk"
    }
    //#endif
  }
