use std::ops::Range;

use super::*;
use crate::perfdata::Inode;

/// Records as they come in, numbered.
#[derive(Default)]
struct Tape {
    spaces: AddressSpaces,
    ordinal: u64,
}

impl Tape {
    fn put(&mut self, sideband: Sideband) -> &mut Tape {
        self.spaces.record(self.ordinal, &sideband);
        self.ordinal += 1;
        self
    }

    fn map(
        &mut self,
        time: impl Into<Option<u64>>,
        pid: i32,
        range: Range<u64>,
        pgoff: u64,
        file: &str,
    ) -> &mut Tape {
        self.put(Sideband::Mmap(Mmap {
            time: time.into(),
            pid,
            tid: pid,
            start: range.start,
            len: range.end - range.start,
            pgoff,
            filename: file.into(),
            build_id: None,
            inode: None,
            mode: if pid < 0 { CpuMode::Kernel } else { CpuMode::User },
            executable: true,
        }))
    }

    /// Processes that map a file at one path, one after the other, and what their records state.
    fn stating(stated: &[(Option<Inode>, Option<u8>)]) -> AddressSpaces {
        let mut tape = Tape::default();
        for (pid, (inode, build)) in (0..).zip(stated) {
            let build_id = build.map(|byte| vec![byte; 20]);
            tape.put(Sideband::Mmap(Mmap {
                time: Some(pid as u64),
                pid,
                tid: pid,
                start: 0x1000,
                len: 0x1000,
                pgoff: 0,
                filename: b"/bin/a".into(),
                build_id,
                inode: *inode,
                mode: CpuMode::User,
                executable: true,
            }));
        }
        tape.seal()
    }

    fn fork(&mut self, time: impl Into<Option<u64>>, ppid: i32, pid: i32) -> &mut Tape {
        self.put(Sideband::Fork(Task { time: time.into(), pid, ppid, tid: pid, ptid: ppid, made_up: false }))
    }

    fn comm(&mut self, time: impl Into<Option<u64>>, pid: i32, name: &str, exec: bool) -> &mut Tape {
        self.put(Sideband::Comm(Comm { time: time.into(), pid, tid: pid, name: name.into(), exec }))
    }

    fn seal(&mut self) -> AddressSpaces {
        let mut spaces = std::mem::take(&mut self.spaces);
        spaces.seal();
        spaces
    }
}

fn at(time: u64) -> When {
    When { time: Some(time), ordinal: u64::MAX }
}

/// `file+offset` of what user address `address` of `pid` shows.
fn shown(spaces: &AddressSpaces, pid: i32, when: When, address: u64) -> Option<String> {
    let mapped = spaces.resolve(CpuMode::User, pid, when, address)?;
    let name = &spaces.images()[mapped.image().0 as usize];
    Some(format!("{}+{:#x}", String::from_utf8_lossy(&name.path), mapped.file_offset()))
}

#[test]
fn a_later_mapping_hides_what_it_overlaps_from_then_on() {
    let spaces = Tape::default()
        .map(0, 7, 0x1000..0x9000, 0x5000, "/a")
        .map(100, 7, 0x3000..0x4000, 0, "/b")
        .map(200, 7, 0x3800..0x5000, 0, "/c")
        .seal();
    let seen = |time, address| shown(&spaces, 7, at(time), address).unwrap();
    assert_eq!(seen(50, 0x3900), "/a+0x7900");
    assert_eq!(seen(150, 0x3900), "/b+0x900");
    assert_eq!(seen(250, 0x3900), "/c+0x100");
    assert_eq!(seen(250, 0x3100), "/b+0x100");
    assert_eq!(seen(250, 0x5000), "/a+0x9000");
    assert_eq!(shown(&spaces, 7, at(250), 0x9000), None);
}

#[test]
fn a_fork_keeps_its_parents_mappings_as_of_the_fork() {
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x2000, 0, "/before")
        .fork(100, 1, 2)
        .map(200, 1, 0x1000..0x3000, 0, "/after")
        .map(300, 2, 0x1800..0x2000, 0, "/own")
        .fork(400, 2, 3)
        .seal();
    assert_eq!(shown(&spaces, 1, at(250), 0x1100).unwrap(), "/after+0x100");
    assert_eq!(shown(&spaces, 2, at(250), 0x1100).unwrap(), "/before+0x100");
    assert_eq!(shown(&spaces, 2, at(250), 0x2100), None, "mapped in the parent only");
    assert_eq!(shown(&spaces, 2, at(250), 0x1900).unwrap(), "/before+0x900");
    assert_eq!(shown(&spaces, 3, at(450), 0x1900).unwrap(), "/own+0x100");
    assert_eq!(shown(&spaces, 3, at(450), 0x1100).unwrap(), "/before+0x100");
}

#[test]
fn a_chain_of_forks_without_mappings_is_one_look_up() {
    let mut tape = Tape::default();
    tape.map(0, 1, 0x1000..0x2000, 0, "/a");
    for pid in 1..1000 {
        tape.fork(pid as u64, pid, pid + 1);
    }
    let spaces = tape.seal();
    assert_eq!(shown(&spaces, 1000, at(2000), 0x1010).unwrap(), "/a+0x10");
    let last = spaces.space_of(1000, (2000, 0)).unwrap();
    let first = spaces.space_of(1, (0, 0)).unwrap();
    assert_eq!(spaces.spaces[last].parent.unwrap().0, first);
}

#[test]
fn what_was_there_before_the_recording_has_no_mappings_of_its_parent() {
    let (time, ppid, pid) = (Some(0), 1, 2);
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x9000, 0, "/sh")
        .comm(0, 2, "server", false)
        .put(Sideband::Fork(Task { time, pid, ppid, tid: pid, ptid: ppid, made_up: true }))
        .map(0, 2, 0x1000..0x2000, 0, "/server")
        .seal();
    assert_eq!(shown(&spaces, 2, at(10), 0x1000).unwrap(), "/server+0x0");
    assert_eq!(shown(&spaces, 2, at(10), 0x5000), None, "mapped in the parent only");
    assert_eq!(spaces.comm(2, 2, at(10)), Some("server"));
}

#[test]
fn an_exec_forgets_what_was_mapped_before() {
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x2000, 0, "/sh")
        .comm(0, 1, "sh", false)
        .fork(10, 1, 2)
        .comm(20, 2, "ls", true)
        .map(21, 2, 0x5000..0x6000, 0, "/ls")
        .seal();
    assert_eq!(shown(&spaces, 2, at(15), 0x1000).unwrap(), "/sh+0x0");
    assert_eq!(shown(&spaces, 2, at(25), 0x1000), None);
    assert_eq!(shown(&spaces, 2, at(25), 0x5000).unwrap(), "/ls+0x0");
    assert_eq!(spaces.comm(2, 2, at(15)), Some("sh"));
    assert_eq!(spaces.comm(2, 2, at(25)), Some("ls"));
    assert_eq!(spaces.process_start(2, at(25)), Some(10));
    assert_eq!(spaces.process_start(1, at(25)), None);
}

#[test]
fn threads_share_the_mappings_of_their_process() {
    let spaces = Tape::default()
        .comm(0, 1, "main", false)
        .put(Sideband::Fork(Task { time: Some(10), pid: 1, ppid: 1, tid: 5, ptid: 1, made_up: false }))
        .map(20, 1, 0x1000..0x2000, 0, "/plugin")
        .put(Sideband::Comm(Comm { time: Some(30), pid: 1, tid: 5, name: "worker".into(), exec: false }))
        .seal();
    assert_eq!(shown(&spaces, 1, at(25), 0x1000).unwrap(), "/plugin+0x0");
    assert_eq!(spaces.comm(1, 5, at(25)), Some("main"));
    assert_eq!(spaces.comm(1, 5, at(35)), Some("worker"));
    assert_eq!(spaces.comm(1, 99, at(35)), Some("main"), "an unknown thread goes by its process");
}

#[test]
fn time_decides_and_not_the_place_in_the_file() {
    let spaces = Tape::default()
        .map(200, 1, 0x1000..0x2000, 0, "/late")
        .map(100, 1, 0x1000..0x2000, 0, "/early")
        .map(0, 1, 0x1000..0x2000, 0, "/synthesized")
        .seal();
    for (time, expected) in
        [(50, "/synthesized+0x0"), (100, "/early+0x0"), (199, "/early+0x0"), (200, "/late+0x0")]
    {
        assert_eq!(shown(&spaces, 1, at(time), 0x1000).unwrap(), expected);
    }
}

#[test]
fn without_times_the_place_in_the_file_decides() {
    let spaces = Tape::default()
        .map(None, 1, 0x1000..0x2000, 0, "/a")
        .map(None, 1, 0x1000..0x2000, 0, "/b")
        .fork(None, 1, 2)
        .map(None, 1, 0x1000..0x2000, 0, "/c")
        .seal();
    let at = |ordinal| When { time: None, ordinal };
    assert_eq!(shown(&spaces, 1, at(0), 0x1000).unwrap(), "/a+0x0");
    assert_eq!(shown(&spaces, 1, at(2), 0x1000).unwrap(), "/b+0x0");
    assert_eq!(shown(&spaces, 1, at(9), 0x1000).unwrap(), "/c+0x0");
    assert_eq!(shown(&spaces, 2, at(9), 0x1000).unwrap(), "/b+0x0");
}

#[test]
fn a_pid_used_again_starts_with_its_new_parents_mappings() {
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x2000, 0, "/one")
        .map(0, 2, 0x1000..0x2000, 0, "/two")
        .fork(10, 1, 9)
        .put(Sideband::Exit(Task { time: Some(20), pid: 9, ppid: 1, tid: 9, ptid: 1, made_up: false }))
        .fork(30, 2, 9)
        .seal();
    assert_eq!(shown(&spaces, 9, at(15), 0x1000).unwrap(), "/one+0x0");
    assert_eq!(shown(&spaces, 9, at(35), 0x1000).unwrap(), "/two+0x0");
    assert_eq!((spaces.process_start(9, at(15)), spaces.process_end(9, at(15))), (Some(10), Some(20)));
    assert_eq!((spaces.process_start(9, at(35)), spaces.process_end(9, at(35))), (Some(30), None));
}

#[test]
fn kernel_addresses_are_the_same_in_all_processes() {
    let text = 0xffff_ffff_8100_0000;
    let spaces = Tape::default()
        .map(0, -1, text..text + 0x100_0000, text, "[kernel.kallsyms]_text")
        .map(0, -1, 0xffff_ffff_c000_0000..0xffff_ffff_c001_0000, 0, "[xfs]")
        .seal();
    let kernel = |address| spaces.resolve(CpuMode::Kernel, 77, at(1), address);
    assert_eq!(kernel(text + 0x10).unwrap().file_offset(), text + 0x10);
    assert_eq!(kernel(0xffff_ffff_c000_0010).unwrap().file_offset(), 0x10);
    assert_eq!(spaces.images()[0].path, b"[kernel.kallsyms]");
    assert_eq!(spaces.resolve(CpuMode::User, 77, at(1), text), None);
    assert_eq!(spaces.resolve(CpuMode::GuestKernel, 77, at(1), text), None);
}

#[test]
fn run_time_code_of_two_processes_is_not_the_same_image() {
    let spaces = Tape::default().map(0, 1, 0..0x1000, 0, "//anon").map(0, 2, 0..0x1000, 0, "//anon").seal();
    let image = |pid| spaces.resolve(CpuMode::User, pid, at(1), 0).unwrap().image();
    assert_ne!(image(1), image(2));
}

/// A file on disk 8:1 or on another, or on none.
fn inode(minor: u32, number: u64, generation: u64) -> Option<Inode> {
    Some(Inode { device: (if minor > 0 { 8 } else { 0 }, minor), number, generation })
}

/// Which image each process of [`Tape::stating`] has mapped.
fn told_apart(stated: &[(Option<Inode>, Option<u8>)]) -> Vec<u32> {
    let spaces = Tape::stating(stated);
    let images = spaces.images().len();
    let image = |pid| spaces.resolve(CpuMode::User, pid, at(1000), 0x1000).unwrap().image().0;
    let found: Vec<u32> = (0..stated.len() as i32).map(image).collect();
    assert_eq!(found.iter().max().map_or(0, |&most| most as usize + 1), images, "none is left over");
    found
}

#[test]
fn another_file_or_build_at_a_path_is_another_image() {
    for (a, b) in [
        ((inode(1, 7, 0), None), (inode(1, 8, 0), None)),
        ((inode(1, 7, 5), None), (inode(1, 7, 6), None)),
        ((inode(1, 7, 0), None), (inode(2, 7, 0), None)),
        ((None, Some(1)), (None, Some(2))),
    ] {
        assert_eq!(told_apart(&[a, b, a]), [0, 1, 0], "{a:?} {b:?}");
    }
}

#[test]
fn one_file_is_one_image_however_much_records_state() {
    for stated in [
        // as /proc tells and as the kernel does
        vec![(inode(1, 7, 0), None), (inode(1, 7, 5), None)],
        // under overlayfs, seen through two containers and from outside
        vec![(inode(0, 7, 0), None), (inode(1, 7, 0), None)],
        vec![
            (Some(Inode { device: (0, 51), number: 7, generation: 0 }), None),
            (Some(Inode { device: (0, 52), number: 7, generation: 0 }), None),
        ],
        // MMAP and MMAP2
        vec![(None, None), (inode(1, 7, 0), None)],
        vec![(inode(1, 7, 0), None), (None, None)],
        // MMAP2 with a build-id and, where the kernel found none, with an inode
        vec![(None, Some(1)), (inode(1, 7, 0), None)],
        vec![(None, Some(1)), (None, None), (None, Some(1))],
        vec![(None, Some(0)), (None, None)],
    ] {
        assert_eq!(told_apart(&stated), vec![0; stated.len()], "{stated:?}");
    }
}

#[test]
fn what_states_nothing_is_of_the_file_that_was_there_first() {
    let stated = [(inode(1, 7, 0), None), (inode(1, 7, 5), None), (inode(1, 7, 6), None), (None, None)];
    assert_eq!(told_apart(&stated), [0, 0, 1, 0]);
}

#[test]
fn an_offset_finds_the_mapping_that_shows_it() {
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x3000, 0, "/a")
        .map(0, 1, 0x8000..0x9000, 0x2000, "/a")
        .map(5, 1, 0x2000..0x3000, 0, "/b")
        .fork(10, 1, 2)
        .seal();
    let a = spaces.resolve(CpuMode::User, 1, at(1), 0x1000).unwrap().image();
    let find = |pid, offset| spaces.address_of(CpuMode::User, pid, at(20), a, offset);
    assert_eq!(find(1, 0x10), Some(0x1010));
    assert_eq!(find(1, 0x1010), None, "hidden by /b");
    assert_eq!(find(2, 0x2010), Some(0x8010));
    assert_eq!(find(2, 0x3000), None);
}

#[test]
fn an_offset_is_found_among_many_mappings_of_other_files() {
    let mut tape = Tape::default();
    tape.map(0, 1, 0x1000..0x2000, 0, "/a");
    for n in 1..100_000u64 {
        tape.map(n, 1, n << 20..(n << 20) + 0x1000, 0, "//anon");
    }
    let spaces = tape.seal();
    let a = spaces.resolve(CpuMode::User, 1, at(1), 0x1000).unwrap().image();
    for offset in 0..0x1000 {
        let times = (0..10).map(|n| at(n * 10_000));
        assert!(
            times
                .map(|at| spaces.address_of(CpuMode::User, 1, at, a, offset))
                .all(|at| at == Some(0x1000 + offset))
        );
    }
}

#[test]
fn mappings_that_wrap_or_claim_too_much_are_harmless() {
    let spaces = Tape::default()
        .map(0, 1, 0xffff_ffff_ffff_f000..u64::MAX, u64::MAX, "/high")
        .put(Sideband::Mmap(Mmap {
            time: Some(0),
            pid: 1,
            tid: 1,
            start: u64::MAX - 5,
            len: u64::MAX,
            pgoff: 0,
            filename: Vec::new(),
            build_id: None,
            inode: None,
            mode: CpuMode::User,
            executable: true,
        }))
        .seal();
    assert!(spaces.resolve(CpuMode::User, 1, at(1), u64::MAX - 0x100).is_some());
    assert_eq!(spaces.resolve(CpuMode::User, 2, at(1), 0), None);
}

#[test]
fn without_times_a_mapping_behind_its_samples_is_found_both_ways() {
    let mut tape = Tape::default();
    tape.comm(None, 7, "prog", false).map(None, 7, 0x1000..0x2000, 0, "/bin/a");
    let spaces = tape.seal();
    let early = When { time: None, ordinal: 0 };
    let mapped = spaces.resolve(CpuMode::User, 7, early, 0x1010).unwrap();
    let shown = spaces.address_of(CpuMode::User, 7, early, mapped.image(), mapped.file_offset());
    assert_eq!(shown, Some(0x1010));
}

#[test]
fn images_share_a_process_that_sees_both_whoever_mapped_them() {
    let spaces = Tape::default()
        .map(0, 1, 0x1000..0x2000, 0, "/program")
        .fork(10, 1, 2)
        .map(20, 2, 0x5000..0x6000, 0, "/plugin")
        .map(20, 3, 0x1000..0x2000, 0, "/other")
        .seal();
    let company = spaces.company();
    let id = |path: &str| {
        let found = spaces.images().iter().position(|name| name.path == path.as_bytes());
        ImageId(found.expect("a path that was mapped") as u32)
    };
    let share = |one, other| company.share(id(one), id(other));
    assert!(share("/program", "/plugin") && share("/plugin", "/program"), "the child sees both");
    assert!(share("/other", "/other"));
    assert!(!share("/program", "/other") && !share("/other", "/plugin"));
}
