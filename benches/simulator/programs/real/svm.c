// cc: -O2 -static
// libs: -lsvm -lstdc++ -lm
// needs: libsvm-dev libstdc++-12-dev
// Two classes of points told apart, and looked up again (LIBSVM).
#include <libsvm/svm.h>
#include <stdio.h>
#include <stdlib.h>

#define POINTS 260
#define WIDE 8

static void quiet(const char *unused) {
    (void)unused;
}

int main(void) {
    static struct svm_node nodes[POINTS][WIDE + 1], *rows[POINTS];
    static double labels[POINTS];
    unsigned seed = 11;
    for (int i = 0; i < POINTS; i++) {
        double sum = 0;
        for (int j = 0; j < WIDE; j++) {
            seed = seed * 1664525 + 1013904223;
            double v = (seed >> 16) / 65536.0;
            nodes[i][j] = (struct svm_node){j + 1, v};
            sum += v * v;
        }
        nodes[i][WIDE].index = -1;
        rows[i] = nodes[i];
        labels[i] = sum + (seed >> 29) * .05 > 2.9 ? 1 : -1;
    }
    struct svm_problem problem = {POINTS, labels, rows};
    struct svm_parameter how = {.svm_type = C_SVC, .kernel_type = RBF, .gamma = .8, .C = 10, .cache_size = 10, .eps = 1e-3, .shrinking = 1};
    svm_set_print_string_function(quiet);
    struct svm_model *model = svm_train(&problem, &how);
    int right = 0;
    for (int i = 0; i < POINTS; i++) right += svm_predict(model, rows[i]) == labels[i];
    printf("%d\n", right);
    return 0;
}
