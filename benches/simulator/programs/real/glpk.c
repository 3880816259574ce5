// cc: -O2 -static
// libs: -lglpk -lamd -lcolamd -lsuitesparseconfig -lz -lltdl -ldl -lgmp -lm
// needs: libglpk-dev libsuitesparse-dev libltdl-dev libgmp-dev
// Two transport problems by the simplex method (GLPK).
#include <glpk.h>
#include <stdio.h>

static double transport(int from, int to) {
    glp_prob *p = glp_create_prob();
    glp_set_obj_dir(p, GLP_MIN);
    glp_add_rows(p, from + to);
    for (int i = 1; i <= from; i++) glp_set_row_bnds(p, i, GLP_UP, 0, 40 + i % 5);
    for (int j = 1; j <= to; j++) glp_set_row_bnds(p, from + j, GLP_LO, 20 + j % 7, 0);
    glp_add_cols(p, from * to);
    unsigned seed = 3;
    for (int k = 0; k < from * to; k++) {
        int index[3] = {0, k / to + 1, from + k % to + 1};
        double one[3] = {0, 1, 1};
        seed = seed * 1664525 + 1013904223;
        glp_set_col_bnds(p, k + 1, GLP_LO, 0, 0);
        glp_set_obj_coef(p, k + 1, 1 + (seed >> 24));
        glp_set_mat_col(p, k + 1, 2, index, one);
    }
    glp_smcp how;
    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    glp_simplex(p, &how);
    double cost = glp_get_obj_val(p);
    glp_delete_prob(p);
    return cost;
}

int main(void) {
    printf("%g %g\n", transport(16, 22), transport(24, 30));
    glp_free_env();
    return 0;
}
