// The parts of register_linalg: solving and its factorizations; QR and spectral decompositions.
#pragma once

namespace tn {

void register_linalg_solve();
void register_linalg_decomp();

}  // namespace tn
