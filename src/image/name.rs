//! The names that recordings give to mappings: a file, the kernel, or nothing on disk.
//!
//! In: the bytes of an mmap record's filename and the mode it was recorded in. Out: what kind of thing is mapped. It opens
//! nothing.

use crate::perfdata::{CpuMode, Inode};

/// What a recorded name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NameKind {
    /// A file by its path.
    File,
    /// A file that was already deleted when it was recorded; the path without ` (deleted)` is where it was.
    Deleted,
    /// The kernel's own text.
    Kernel,
    /// A kernel module, by name or by path.
    KernelModule,
    /// The kernel's code mapped into every process: `[vdso]`, `[vsyscall]`, `[uprobes]`.
    Vdso,
    /// Memory without a file: `//anon`, `[heap]`, `[stack]`, shared memory. Code here was made at run time.
    Anonymous,
    /// An anonymous file, `/memfd:name`. Code here was made at run time.
    Memfd,
    /// A map of run-time code that a program wrote for perf, `/tmp/perf-PID.map`.
    JitMap,
}

/// What the recording says of an image.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ImageName {
    /// The recorded filename.
    pub path: Vec<u8>,
    /// What the name stands for.
    pub kind: NameKind,
    /// The build-id that the mmap record states.
    pub build_id: Option<Vec<u8>>,
    /// Which file it is, if the mmap record states that.
    pub inode: Option<Inode>,
    /// The process, for memory that is no file: each process has its own.
    pub pid: Option<i32>,
}

/// Classifies the filename of an mmap record.
pub fn classify(name: &[u8], mode: CpuMode) -> NameKind {
    if matches!(mode, CpuMode::Kernel | CpuMode::GuestKernel) {
        let kernel = name.starts_with(b"[kernel.") || name.starts_with(b"[guest.kernel.") || !is_module(name);
        return if kernel { NameKind::Kernel } else { NameKind::KernelModule };
    }
    match name {
        b"[vdso]" | b"[vdso32]" | b"[vdsox32]" | b"[vsyscall]" | b"[uprobes]" | b"[vectors]" => {
            NameKind::Vdso
        }
        _ if name.starts_with(b"[kernel.") => NameKind::Kernel,
        _ if is_anonymous(name) => NameKind::Anonymous,
        _ if name.starts_with(b"/memfd:") => NameKind::Memfd,
        _ if is_jit_map(name) => NameKind::JitMap,
        _ if name.ends_with(DELETED) => NameKind::Deleted,
        _ => NameKind::File,
    }
}

const DELETED: &[u8] = b" (deleted)";

/// The path that a deleted file had; other names as they are.
pub fn undeleted(name: &[u8]) -> &[u8] {
    name.strip_suffix(DELETED).unwrap_or(name)
}

/// The name without what perf appends to say which kernel symbol a mapping starts at: `[kernel.kallsyms]_text`.
pub fn canonical(name: &[u8]) -> &[u8] {
    match name.iter().position(|&b| b == b']') {
        Some(end) if name.starts_with(b"[kernel.") || name.starts_with(b"[guest.kernel.") => &name[..=end],
        _ => name,
    }
}

/// The kernel symbol that perf appends, if it does.
pub fn start_symbol(name: &[u8]) -> Option<&[u8]> {
    name.strip_prefix(canonical(name)).filter(|symbol| !symbol.is_empty())
}

fn is_module(name: &[u8]) -> bool {
    let path = [&b".ko"[..], b".ko.gz", b".ko.xz", b".ko.zst"].iter().any(|end| name.ends_with(end));
    path || name.starts_with(b"[")
}

fn is_anonymous(name: &[u8]) -> bool {
    const STARTS: [&[u8]; 6] = [b"//anon", b"/dev/zero", b"/anon_hugepage", b"/SYSV", b"[", b"anon_inode:"];
    name.is_empty() || STARTS.iter().any(|start| name.starts_with(start))
}

fn is_jit_map(name: &[u8]) -> bool {
    let pid = name.strip_prefix(b"/tmp/perf-").and_then(|rest| rest.strip_suffix(b".map"));
    pid.is_some_and(|pid| !pid.is_empty() && pid.iter().all(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorded_names_are_told_apart() {
        for (name, kind) in [
            ("/usr/bin/ls", NameKind::File),
            ("/opt/x (deleted)", NameKind::Deleted),
            ("[vdso]", NameKind::Vdso),
            ("//anon", NameKind::Anonymous),
            ("[anon]", NameKind::Anonymous),
            ("[heap]", NameKind::Anonymous),
            ("/dev/zero (deleted)", NameKind::Anonymous),
            ("/SYSV00000000 (deleted)", NameKind::Anonymous),
            ("/memfd:jit (deleted)", NameKind::Memfd),
            ("/tmp/perf-17.map", NameKind::JitMap),
            ("/tmp/perf-x.map", NameKind::File),
        ] {
            assert_eq!(classify(name.as_bytes(), CpuMode::User), kind, "{name}");
        }
        for (name, kind) in [
            ("[kernel.kallsyms]_text", NameKind::Kernel),
            ("/boot/vmlinux-6.1", NameKind::Kernel),
            ("[xfs]", NameKind::KernelModule),
            ("/lib/modules/6.1/kernel/fs/xfs/xfs.ko.zst", NameKind::KernelModule),
        ] {
            assert_eq!(classify(name.as_bytes(), CpuMode::Kernel), kind, "{name}");
        }
    }

    #[test]
    fn the_kernels_start_symbol_is_no_part_of_its_name() {
        assert_eq!(canonical(b"[kernel.kallsyms]_stext"), b"[kernel.kallsyms]");
        assert_eq!(start_symbol(b"[kernel.kallsyms]_stext"), Some(&b"_stext"[..]));
        assert_eq!(start_symbol(b"[kernel.kallsyms]"), None);
        assert_eq!(canonical(b"/opt/[kernel.]x"), b"/opt/[kernel.]x");
        assert_eq!(undeleted(b"/opt/x (deleted)"), b"/opt/x");
    }
}
