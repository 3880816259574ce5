//! Stubs that call other files, against what objdump says of them.

use std::collections::BTreeSet;
use std::path::Path;

use super::binaries::{address_of, build, images, only, run, text};
use skidconv::image::{Class, FunctionSource, PltTarget, Svma};

/// Calls two functions of the C library.
const SOURCE: &str = r#"
#include <stdio.h>
int main(int argc, char **argv) { puts("start"); return printf("%d %s\n", argc, argv[0]); }
"#;

#[test]
fn stubs_have_the_names_that_objdump_gives_them() {
    let dir = tempfile::tempdir().unwrap();
    let flavours: [(&str, &[&str]); 5] = [
        ("lazy", &["-fcf-protection=none", "-Wl,-z,lazy"]),
        ("now", &["-fcf-protection=none", "-Wl,-z,now"]),
        ("ibt", &["-fcf-protection=full", "-Wl,-z,ibtplt", "-Wl,-z,lazy"]),
        ("fixed", &["-no-pie", "-fcf-protection=none"]),
        ("shared", &["-shared", "-fPIC"]),
    ];
    for (name, args) in flavours {
        let file = build(dir.path(), name, SOURCE, args);
        assert_stubs(&file, &["puts", "printf"]);
    }
}

/// The toolchain may lack a 32-bit C library, so this one does without.
#[test]
fn stubs_of_32_bit_programs_have_names_too() {
    let dir = tempfile::tempdir().unwrap();
    let library =
        ".globl puts, printf\n.type puts, @function\n.type printf, @function\nputs: ret\nprintf: ret\n";
    let user = ".globl user\n.type user, @function\nuser: call puts@PLT\ncall printf@PLT\nret\n.size user, . - user\n";
    let link = |name: &str, source: &str, args: &[&str]| {
        let (object, out) = (dir.path().join(format!("{name}.o")), dir.path().join(name));
        let file = dir.path().join(format!("{name}.s"));
        std::fs::write(&file, source).unwrap();
        run("as", &["--32", "-o", text(&object), text(&file)]);
        run("ld", &[&["-m", "elf_i386", "-o", text(&out), text(&object)], args].concat());
        out
    };
    let library = link("library.so", library, &["-shared"]);
    for (name, args) in
        [("user.so", &["-shared", text(&library)][..]), ("user", &["-e", "user", text(&library)])]
    {
        let file = link(name, user, args);
        assert_eq!(only(&images(&file)).class(), Some(Class::Bits32));
        assert_stubs(&file, &["puts", "printf"]);
    }
}

fn assert_stubs(file: &Path, expected: &[&str]) {
    let listing = run("objdump", &["-d", "--no-show-raw-insn", text(file)]);
    let label = |line: &str| {
        let (address, name) = line.strip_suffix("@plt>:")?.split_once(" <")?;
        Some((u64::from_str_radix(address, 16).ok()?, name.split('@').next()?.to_owned()))
    };
    let labels: BTreeSet<(u64, String)> = listing.lines().filter_map(label).collect();
    let images = images(file);
    let stubs = only(&images).functions().iter().filter(|function| function.source == FunctionSource::Plt);
    let found: BTreeSet<(u64, String)> = stubs
        .map(|stub| (stub.start.0, stub.name.clone().unwrap().strip_suffix("@plt").unwrap().to_owned()))
        .collect();
    assert_eq!(found, labels, "{}", file.display());
    for name in expected {
        let (at, _) = found.iter().find(|(_, found)| found == name).unwrap();
        assert_eq!(only(&images).plt_target(Svma(at + 2)), Some(&PltTarget::Symbol((*name).to_owned())));
    }
}

#[test]
fn a_stub_to_a_chosen_function_leads_to_its_resolver() {
    let source = r#"
static int plain(int n) { return n; }
static void *choose(void) { return plain; }
int chosen(int n) __attribute__((ifunc("choose")));
int _start(void) { return chosen(3); }
"#;
    let dir = tempfile::tempdir().unwrap();
    let file = build(dir.path(), "program", source, &["-nostdlib", "-static", "-O0", "-fno-pie"]);
    let images = images(&file);
    let stub = only(&images).functions().iter().find(|f| f.source == FunctionSource::Plt).unwrap();
    assert_eq!(stub.name.as_deref(), Some("chosen@plt"));
    let resolver = Svma(address_of(&file, "choose"));
    assert_eq!(only(&images).plt_target(stub.start), Some(&PltTarget::Resolver(Some(resolver))));
}
