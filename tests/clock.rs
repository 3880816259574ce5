//! `cpu-clock` of the machine that runs the tests: a real timer that interrupts real code. The kernel hands it out on every
//! machine, virtual ones too. Runs where perf can record; with `SKIDCONV_REQUIRE_PERF` set, its absence fails.

mod tool;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::process::Command;

use object::{Object, ObjectSegment, ObjectSymbol};
use skidconv::perfdata::{PerfFile, Sideband};
use tool::{compile, folder, record, run, skidconv, text};

/// A division that the next instruction does not wait for, so that the time of the loop is the division's.
const DIVIDES: &str = r#"
#include <stdlib.h>
int main(int argc, char **argv) {
    unsigned long n = strtoul(argv[1], 0, 10), sum = 0, divisor = argc + 5;
    for (unsigned long i = 0; i < n; i++) {
        unsigned long low = i * 2654435761ul + 12345, high = 1, quotient;
        __asm__ volatile("divq %2" : "=a"(quotient), "+d"(high) : "r"(divisor), "0"(low));
        sum += quotient;
    }
    return sum == 42;
}
"#;

/// Samples per file offset in mappings of files with this name.
fn at(path: &Path, name: &str) -> HashMap<u64, u64> {
    let file = PerfFile::open(path).unwrap();
    let mut found = HashMap::new();
    let (mut mapped, mut records) = (None, file.records().unwrap());
    while let Some(record) = records.next().unwrap() {
        if let Some(Sideband::Mmap(map)) = file.sideband(&record)
            && map.executable
            && map.filename.ends_with(format!("/{name}").as_bytes())
        {
            mapped = Some(map);
        }
        if let (Some(sample), Some(map)) = (file.sample(&record).unwrap(), &mapped)
            && (map.start..map.start + map.len).contains(&sample.ip)
        {
            *found.entry(sample.ip - map.start + map.pgoff).or_default() += 1;
        }
    }
    found
}

/// File offsets of the only `div` of a function and of the instruction behind it.
fn division(program: &Path, function: &str) -> [u64; 2] {
    let listing =
        run("objdump", &["-d", "--no-show-raw-insn", &format!("--disassemble={function}"), text(program)]);
    let instruction = |line: &str| {
        let (address, rest) = line.split_once(":\t")?;
        Some((u64::from_str_radix(address.trim(), 16).ok()?, rest.starts_with("div")))
    };
    let lines: Vec<(u64, bool)> = listing.lines().filter_map(instruction).collect();
    let found: Vec<usize> = (0..lines.len()).filter(|&n| lines[n].1).collect();
    assert_eq!(found.len(), 1, "one division in {listing}");
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    [found[0], found[0] + 1].map(|n| offset(&file, lines[n].0))
}

fn offset(file: &object::File<'_>, address: u64) -> u64 {
    let around = |s: &object::Segment<'_, '_>| (s.address()..s.address() + s.size()).contains(&address);
    let segment = file.segments().find(around).unwrap();
    address - segment.address() + segment.file_range().0
}

/// The file offset of a symbol, and its size.
fn place(program: &Path, name: &str) -> (u64, u64) {
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let symbol = file.symbol_by_name(name).unwrap();
    (offset(&file, symbol.address()), symbol.size())
}

fn fix(folder: &Path, data: &Path) -> PathBuf {
    let ran = skidconv(folder, &["fix", text(data), "-o", "fixed.data", "--force", "--quiet"]);
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (Some(0), "", ""));
    folder.join("fixed.data")
}

/// Samples that say enough, and recordings tried for them: now and then the timer of a virtual machine has given thirty samples
/// where the next recording had thousands.
const ENOUGH: f64 = 60.0;
const TRIES: usize = 5;

/// The clock as it is, and as `perf record` asks for it where it is given no event and the machine has no counters.
const CLOCK: &str = "cpu-clock:u";
const BY_DEFAULT: &str = "cpu-clock:pppu";

/// Records an `event` of `program` with `args`, fixes that, and tells how much of the time of `function`'s division it has itself.
fn assert_given_back(folder: &Path, event: &str, program: &Path, args: &[&str], function: &str) {
    let data = folder.join("perf.data");
    let args = [&["-e", event, "-c", "100003", "--", text(program)], args].concat();
    let name = program.file_name().unwrap().to_str().unwrap();
    let division = division(program, function);
    let share = |path: &Path| {
        let at = at(path, name);
        let [own, behind] = division.map(|offset| at.get(&offset).copied().unwrap_or(0) as f64);
        (own / (own + behind), own + behind)
    };
    let mut before = (0.0, 0.0);
    for _ in 0..TRIES {
        if record(&data, &args).is_none() {
            return;
        }
        before = share(&data);
        if before.1 > ENOUGH {
            break;
        }
    }
    let after = share(&fix(folder, &data));
    eprintln!(
        "{name}: the division has {:.3} before, {:.3} after, of {} samples",
        before.0, after.0, before.1
    );
    assert!(before.1 > ENOUGH, "{} samples", before.1);
    assert!(after.0 >= 0.85, "{:.3} → {:.3}", before.0, after.0);
}

#[test]
fn a_division_gets_back_the_time_that_was_reported_behind_it() {
    let folder = folder("divides");
    let program = compile(&folder, "divides", DIVIDES, &["-O2", "-fno-omit-frame-pointer"]);
    assert_given_back(&folder, CLOCK, &program, &["60000000"], "main");
}

#[test]
fn a_division_gets_back_its_time_in_a_static_program_whose_clock_was_asked_to_be_precise() {
    let folder = folder("static");
    let program = compile(&folder, "static", DIVIDES, &["-O2", "-static", "-no-pie"]);
    assert_given_back(&folder, BY_DEFAULT, &program, &["60000000"], "main");
}

/// The same in 32 bits, and without a library, as those are seldom installed.
const DIVIDES_32: &str = "
.text
.globl _start
.type _start, @function
_start:
    mov $90000000, %esi
    mov $7, %ecx
1:  mov %esi, %eax
    xor %edx, %edx
    divl %ecx
    add $3, %edi
    add %eax, %edi
    dec %esi
    jnz 1b
    mov $1, %eax
    xor %ebx, %ebx
    int $0x80
.size _start, . - _start
";

#[test]
fn a_division_in_a_32_bit_program_gets_back_its_time() {
    let folder = folder("narrow");
    let (source, object, program) = (folder.join("narrow.s"), folder.join("narrow.o"), folder.join("narrow"));
    std::fs::write(&source, DIVIDES_32).unwrap();
    run("as", &["--32", "-o", text(&object), text(&source)]);
    run("ld", &["-m", "elf_i386", "-o", text(&program), text(&object)]);
    match Command::new(&program).status() {
        Ok(status) if status.success() => assert_given_back(&folder, CLOCK, &program, &[], "_start"),
        _ => eprintln!("skipped: the kernel runs no 32-bit programs"),
    }
}

/// Loops in which one instruction is waited for, marked `!`: nothing else of them takes longer than a cycle.
const LOOPS: [(&str, u32, &str); 9] = [
    ("divide", 20, "mov %rsi, %rax; mov $1, %edx; !divq %rcx"),
    ("signed_divide", 20, "mov %rsi, %rax; cqto; !idivq %rcx"),
    ("narrow_divide", 20, "mov %esi, %eax; xor %edx, %edx; !divl %ecx"),
    ("root", 20, "!sqrtsd %xmm0, %xmm1"),
    ("quotient", 20, "!divsd %xmm0, %xmm1"),
    ("product", 60, "!imul %rcx, %rdi"),
    ("locked", 10, "!lock incl -64(%rsp)"),
    ("chased", 2, "!mov (%r15), %r15"),
    ("string", 3, "lea -512(%rsp), %rdi; mov $16, %ecx; !rep stosq"),
];

/// A program of these loops, and the numbers of their marked instructions, which have labels of their own.
fn loops() -> String {
    let mut text = ".bss\n.balign 4096\ncells: .space 0x4000000\n.text\n.globl _start\n".to_owned();
    for (name, millions, body) in LOOPS {
        text += &format!(".type {name}, @function\n{name}: mov ${millions}000000, %rsi\n.balign 64\n1:\n");
        for line in body.split("; ") {
            text += &line.replace('!', &format!("{name}_waited: "));
            text += "\n";
        }
        text += "nop\nnop\nmov %rdx, %r8\nmov %r8, %r9\nnop\ndec %rsi\njnz 1b\nret\n";
        text += &format!(".size {name}, . - {name}\n");
    }
    // cells a line apart that lead to one another in no order that a processor foresees
    text += ".type _start, @function\n_start: lea cells(%rip), %r15\nxor %eax, %eax\nmov $0x100000, %edx\n\
             1: lea 389017(%rax), %ecx\nand $0xfffff, %ecx\nshl $6, %rax\nmov %rcx, %rbx\nshl $6, %rbx\nadd %r15, %rbx\n\
             mov %rbx, (%r15,%rax)\nmov %ecx, %eax\ndec %edx\njnz 1b\nfld1\nmov $7, %edi\n";
    for (name, ..) in LOOPS {
        text += &format!("mov $7, %ecx\ncall {name}\n");
    }
    text + "mov $60, %eax\nxor %edi, %edi\nsyscall\n.size _start, . - _start\n"
}

/// Samples on the instruction that each loop waits for, and in all of the loop.
fn waits(program: &Path, data: &Path) -> Vec<(f64, f64)> {
    let at = at(data, "waits");
    let of = |name: &str| {
        let ((start, size), (waited, _)) = (place(program, name), place(program, &format!("{name}_waited")));
        let inside = at.iter().filter(|(offset, _)| (start..start + size).contains(offset));
        (at.get(&waited).copied().unwrap_or(0) as f64, inside.map(|(_, n)| *n as f64).sum())
    };
    LOOPS.iter().map(|(name, ..)| of(name)).collect()
}

#[test]
fn what_is_waited_for_gets_its_time_whatever_it_is() {
    let folder = folder("waits");
    let (source, program) = (folder.join("waits.s"), folder.join("waits"));
    std::fs::write(&source, loops()).unwrap();
    run("cc", &["-nostdlib", "-static", "-no-pie", "-o", text(&program), text(&source)]);
    let data = folder.join("perf.data");
    let mut before = Vec::new();
    for _ in 0..TRIES {
        if record(&data, &["-e", BY_DEFAULT, "-F", "2999", "--", text(&program)]).is_none() {
            return;
        }
        before = waits(&program, &data);
        if before.iter().all(|(_, all)| *all > 20.0) {
            break;
        }
    }
    let after = waits(&program, &fix(&folder, &data));
    for (((name, ..), before), after) in LOOPS.iter().zip(&before).zip(&after) {
        eprintln!("{name}: what is waited for has {} before, {} after, of {}", before.0, after.0, after.1);
    }
    let right = |loops: &[(f64, f64)]| loops.iter().map(|l| l.0).sum::<f64>();
    let all: f64 = after.iter().map(|l| l.1).sum();
    assert!(all > ENOUGH && right(&after) > right(&before).max(0.85 * all), "{before:?} {after:?}");
}

/// A program with two threads, a fork, and a program executed by the child.
const FAMILY: &str = r#"
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noinline)) unsigned long work(unsigned long n, unsigned long divisor) {
    unsigned long sum = 0;
    for (unsigned long i = 1; i < n; i++) sum += (sum + i * 977) / divisor;
    return sum;
}
static void *thread(void *n) { return (void *)work((unsigned long)n, 7); }
int main(int argc, char **argv) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, thread, (void *)8000000);
    pthread_create(&threads[1], 0, thread, (void *)4000000);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    if (argc > 1) return 0;
    pid_t child = fork();
    if (child == 0) {
        work(3000000, argc + 4);
        execl(argv[0], argv[0], "again", (char *)0);
        _exit(1);
    }
    work(2000000, argc + 6);
    waitpid(child, 0, 0);
    return 0;
}
"#;

/// Number and weight of samples, and names, per process and thread.
fn threads(path: &Path) -> BTreeMap<(i32, i32), (u64, u64)> {
    let file = PerfFile::open(path).unwrap();
    let mut found = BTreeMap::new();
    let mut records = file.records().unwrap();
    while let Some(record) = records.next().unwrap() {
        if let Some(s) = file.sample(&record).unwrap() {
            let total: &mut (u64, u64) = found.entry((s.pid, s.tid)).or_default();
            *total = (total.0 + 1, total.1 + s.period);
        }
    }
    found
}

#[test]
fn threads_and_processes_keep_their_totals() {
    let folder = folder("family");
    let program = compile(&folder, "family", FAMILY, &["-O2", "-pthread"]);
    for (chain, args) in [("none", &[][..]), ("fp", &["--call-graph", "fp"])] {
        let data = folder.join(format!("{chain}.data"));
        let args = [args, &["-e", "cpu-clock:u,page-faults", "-c", "100003", "--", text(&program)]].concat();
        if record(&data, &args).is_none() {
            return;
        }
        let fixed = fix(&folder, &data);
        let (before, after) = (threads(&data), threads(&fixed));
        assert_eq!(before, after);
        let busy: Vec<_> =
            before.iter().filter(|(_, total)| total.0 > 20).map(|(thread, _)| *thread).collect();
        let processes: BTreeSet<i32> = busy.iter().map(|t| t.0).collect();
        assert!(busy.len() >= 4 && processes.len() >= 2, "{before:?}");
        let addresses = |path: &Path| at(path, "family");
        assert!(addresses(&data) != addresses(&fixed), "samples moved");
    }
}
