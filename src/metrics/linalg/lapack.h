// SPDX-License-Identifier: Apache-2.0
#pragma once

// The few routines of LAPACK that are used, as Fortran compilers name them.
extern "C" {

/// Eigenvalues of a symmetric tridiagonal matrix by the root-free QL or QR method, ascending.
void dsterf_(const int* n, double* diagonal, double* subdiagonal, int* info);

}  // extern "C"
