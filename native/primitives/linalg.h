// The parts of register_linalg, one for each file.
#pragma once

namespace tn {

void register_linalg_solve();
void register_linalg_factor();
void register_linalg_det();
void register_linalg_triangular();
void register_linalg_decomp();
void register_linalg_spectral();

}  // namespace tn
