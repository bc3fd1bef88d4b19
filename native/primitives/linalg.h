// The parts of register_linalg: solving and its factorizations; QR and spectral decompositions; what their
// derivatives divide by.
#pragma once

namespace tn {

void register_linalg_solve();  // and the next two
void register_linalg_triangular();
void register_linalg_decomp();
void register_linalg_spectral();

}  // namespace tn
