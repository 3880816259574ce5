// cc: -O2 -static
// libs: -lgsl -lgslcblas -lm
// needs: libgsl-dev
// Linear equations, a Fourier transform, an integral, an orbit and special functions (GSL).
#include <gsl/gsl_errno.h>
#include <gsl/gsl_fft_complex.h>
#include <gsl/gsl_integration.h>
#include <gsl/gsl_linalg.h>
#include <gsl/gsl_odeiv2.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sf_bessel.h>
#include <gsl/gsl_sort_double.h>
#include <math.h>
#include <stdio.h>

#define N 60

static double wave(double x, void *unused) {
    (void)unused;
    return exp(-x * x) * cos(20 * x);
}

static int orbit(double t, const double y[], double f[], void *unused) {
    (void)t, (void)unused;
    double r = pow(y[0] * y[0] + y[1] * y[1], 1.5);
    f[0] = y[2], f[1] = y[3], f[2] = -y[0] / r, f[3] = -y[1] / r;
    return GSL_SUCCESS;
}

int main(void) {
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    gsl_matrix *a = gsl_matrix_alloc(N, N);
    gsl_vector *b = gsl_vector_alloc(N), *x = gsl_vector_alloc(N);
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) gsl_matrix_set(a, i, j, gsl_rng_uniform(rng));
        gsl_vector_set(b, i, i);
    }
    gsl_permutation *p = gsl_permutation_alloc(N);
    int sign;
    gsl_linalg_LU_decomp(a, p, &sign);
    gsl_linalg_LU_solve(a, p, b, x);
    static double data[2048], sorted[6000];
    for (int i = 0; i < 2048; i++) data[i] = gsl_rng_uniform(rng);
    gsl_fft_complex_radix2_forward(data, 1, 1024);
    for (int i = 0; i < 6000; i++) sorted[i] = gsl_rng_uniform(rng);
    gsl_sort(sorted, 1, 6000);
    gsl_integration_workspace *w = gsl_integration_workspace_alloc(500);
    gsl_function f = {wave, NULL};
    double integral, error, t = 0, y[4] = {1, 0, 0, 1.1}, bessel = 0;
    gsl_integration_qag(&f, -3, 3, 1e-10, 1e-10, 500, 2, w, &integral, &error);
    gsl_odeiv2_system system = {orbit, NULL, 4, NULL};
    gsl_odeiv2_driver *d = gsl_odeiv2_driver_alloc_y_new(&system, gsl_odeiv2_step_rk8pd, 1e-3, 1e-10, 1e-10);
    gsl_odeiv2_driver_apply(d, &t, 20, y);
    for (int i = 1; i < 800; i++) bessel += gsl_sf_bessel_Jn(i % 7, i * .05);
    printf("%g %g %g %g %g %g\n", gsl_vector_get(x, 3), data[7], sorted[99], integral, y[0], bessel);
    return 0;
}
