// The vector c of the walk's row $J: NAME of the tensor FROM, which a lane holds of every row that it has loaded (HELD).
//#if UNIFORM
let $(NAME)$J = load_$(FROM)(row$J + c);
//#else
let $(NAME)$J = subgroupBroadcast($(HELD)$((J-J%LANES)/LANES), $(J%LANES)u);
//#endif
