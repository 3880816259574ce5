//! Functions that never return, by the names that the C and C++ runtimes give them.
//!
//! In: a name as the linker knows it. Out: whether that function ends in the process's end, in the thread's, or elsewhere up the
//! stack. Of functions whose code is there the code tells itself, but for those that leave by a changed stack.

/// They go on elsewhere up the stack.
const JUMPS: [&str; 9] = [
    "_Unwind_Resume",
    "_Unwind_SjLj_Resume",
    "__libc_longjmp",
    "__libc_siglongjmp",
    "__longjmp",
    "__longjmp_chk",
    "_longjmp",
    "longjmp",
    "siglongjmp",
];
/// Others, of the C library and the compilers' runtimes.
const ENDS: [&str; 33] = [
    "_Exit",
    "_ZSt10unexpectedv",
    "_ZSt9terminatev",
    "__assert",
    "__assert_fail",
    "__assert_perror_fail",
    "__chk_fail",
    "__clang_call_terminate",
    "__cxa_bad_cast",
    "__cxa_bad_typeid",
    "__cxa_call_terminate",
    "__cxa_call_unexpected",
    "__cxa_deleted_virtual",
    "__cxa_pure_virtual",
    "__cxa_rethrow",
    "__cxa_throw",
    "__cxa_throw_bad_array_length",
    "__cxa_throw_bad_array_new_length",
    "__fortify_fail",
    "__libc_fatal",
    "__libc_start_main",
    "__stack_chk_fail",
    "__stack_chk_fail_local",
    "_exit",
    "abort",
    "err",
    "errx",
    "exit",
    "pthread_exit",
    "quick_exit",
    "thrd_exit",
    "verr",
    "verrx",
];
/// What the C++ library throws with is `std::__throw_…`.
const THROWS: (&str, &str) = ("_ZSt", "__throw_");

/// Whether a function goes on elsewhere up the stack, where its code seems to return.
pub fn jumps_away(name: &str) -> bool {
    JUMPS.contains(&plain(name))
}

/// Whether a function of another file never returns.
pub fn noreturn(name: &str) -> bool {
    let name = plain(name);
    let of_std = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(THROWS.1);
    jumps_away(name) || ENDS.contains(&name) || name.strip_prefix(THROWS.0).is_some_and(of_std)
}

/// Without the symbol's version.
fn plain(name: &str) -> &str {
    name.split('@').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_do_not_matter_and_parts_of_names_do() {
        let throws = "_ZSt20__throw_length_errorPKc@@GLIBCXX_3.4";
        for name in ["abort", "exit@GLIBC_2.2.5", "longjmp", "_ZSt17__throw_bad_allocv", throws] {
            assert!(noreturn(name), "{name}");
        }
        for name in ["", "atexit", "exit_loop", "_ZSt4sortv", "_ZN3foo8__throw_Ev"] {
            assert!(!noreturn(name), "{name}");
        }
    }

    #[test]
    fn a_program_may_have_an_err_of_its_own() {
        assert!(!jumps_away("err") && jumps_away("siglongjmp"));
    }
}
