// SPDX-License-Identifier: Apache-2.0
#pragma once

// The routines of BLAS and LAPACK that the kernels are compared with. Column-major, as Fortran has
// them; without LAPACKE and CBLAS, whose headers differ between distributions.

extern "C" {
void sgemm_(const char* transpose_a, const char* transpose_b, const int* rows, const int* columns,
            const int* inner, const float* alpha, const float* a, const int* a_stride,
            const float* b, const int* b_stride, const float* beta, float* c, const int* c_stride);
void dgemm_(const char* transpose_a, const char* transpose_b, const int* rows, const int* columns,
            const int* inner, const double* alpha, const double* a, const int* a_stride,
            const double* b, const int* b_stride, const double* beta, double* c,
            const int* c_stride);
void ssyrk_(const char* triangle, const char* transpose, const int* size, const int* inner,
            const float* alpha, const float* a, const int* a_stride, const float* beta, float* c,
            const int* c_stride);
void dsyrk_(const char* triangle, const char* transpose, const int* size, const int* inner,
            const double* alpha, const double* a, const int* a_stride, const double* beta,
            double* c, const int* c_stride);
void dsyevd_(const char* vectors, const char* triangle, const int* size, double* a,
             const int* stride, double* values, double* work, const int* work_size, int* int_work,
             const int* int_work_size, int* info);
void dsyevd_2stage_(const char* vectors, const char* triangle, const int* size, double* a,
                    const int* stride, double* values, double* work, const int* work_size,
                    int* int_work, const int* int_work_size, int* info);
void dsytrd_(const char* triangle, const int* size, double* a, const int* stride, double* diagonal,
             double* subdiagonal, double* tau, double* work, const int* work_size, int* info);
}

namespace lime::blas {

/// Computes C = alpha * op(A) op(B) of row-major matrices, C [rows, columns].
inline void multiply(bool transpose_a, bool transpose_b, int rows, int columns, int inner,
                     const float* a, int a_stride, const float* b, int b_stride, float* c,
                     int c_stride) {
  const float one = 1.0F;
  const float zero = 0.0F;
  sgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &columns, &rows, &inner, &one, b,
         &b_stride, a, &a_stride, &zero, c, &c_stride);
}

inline void multiply(bool transpose_a, bool transpose_b, int rows, int columns, int inner,
                     const double* a, int a_stride, const double* b, int b_stride, double* c,
                     int c_stride) {
  const double one = 1.0;
  const double zero = 0.0;
  dgemm_(transpose_b ? "T" : "N", transpose_a ? "T" : "N", &columns, &rows, &inner, &one, b,
         &b_stride, a, &a_stride, &zero, c, &c_stride);
}

}  // namespace lime::blas
