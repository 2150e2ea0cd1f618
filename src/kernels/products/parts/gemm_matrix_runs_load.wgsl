// The lane's own vectors of the tokens in `slab`, on their way to workgroup memory.
//#for n 0 VA
valueA$n = load_a((slab.x + min(tokenA$n, slab.y - 1u)) * strideA + sourceA$n);
//#endfor
//#for n 0 VB
valueB$n = load_b((slab.x + min(tokenB$n, slab.y - 1u)) * strideB + sourceB$n);
//#endfor
