//! Files that are compressed as a whole, as distributions install kernel modules.
//!
//! In: the bytes of a file. Out: those inside, if they are not too many. It knows no ELF.

use std::io::{self, Read};

use zstd_safe::{DCtx, InBuffer, OutBuffer};

use super::expansion::xz;

/// The largest modules, of graphics, have some ten MiB without their debug information: 128 MiB.
pub const LARGEST: usize = 128 << 20;
/// Bytes that zstd gives at a time.
const PIECE: usize = 128 << 10;

/// The bytes inside a file of gzip, xz or zstd; `None` for any other file.
pub fn expand(file: &[u8], largest: usize) -> Option<io::Result<Vec<u8>>> {
    match file {
        [0x1f, 0x8b, ..] => Some(gzip(file, largest)),
        [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(lzma(file, largest)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(zstd(file, largest)),
        _ => None,
    }
}

fn invalid(reason: impl ToString) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason.to_string())
}

fn too_large(largest: usize) -> io::Error {
    invalid(format!("it expands to more than {largest} bytes"))
}

fn gzip(file: &[u8], largest: usize) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    flate2::read::MultiGzDecoder::new(file).take(largest as u64 + 1).read_to_end(&mut out)?;
    if out.len() > largest { Err(too_large(largest)) } else { Ok(out) }
}

/// The decoder holds all that comes out, so what the chunks state is added up before.
fn lzma(mut file: &[u8], largest: usize) -> io::Result<Vec<u8>> {
    let stated = xz(file).ok_or_else(|| invalid("its xz chunks do not add up"))?;
    if stated > largest as u64 {
        return Err(too_large(largest));
    }
    let mut out = Vec::new();
    lzma_rs::xz_decompress(&mut file, &mut out).map_err(|error| invalid(format!("{error:?}")))?;
    Ok(out)
}

fn zstd(file: &[u8], largest: usize) -> io::Result<Vec<u8>> {
    let mut stream = DCtx::try_create().ok_or_else(|| invalid("no memory for zstd"))?;
    let (mut input, mut out, mut piece) = (InBuffer::around(file), Vec::new(), vec![0; PIECE]);
    loop {
        let mut made = OutBuffer::around(&mut piece[..]);
        let told = stream.decompress_stream(&mut made, &mut input);
        let left = told.map_err(|code| invalid(zstd_safe::get_error_name(code)))?;
        out.extend_from_slice(made.as_slice());
        match () {
            () if out.len() > largest => return Err(too_large(largest)),
            () if left == 0 && input.pos == file.len() => return Ok(out),
            () if made.pos() == 0 && input.pos == file.len() => return Err(invalid("it breaks off")),
            () => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::elf::Elf;
    use crate::image::testing::elf;
    use std::io::Write;

    /// The same bytes in each form.
    fn packed(bytes: &[u8]) -> [Vec<u8>; 3] {
        let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gz.write_all(bytes).unwrap();
        let mut xz = Vec::new();
        lzma_rs::xz_compress(&mut &bytes[..], &mut xz).unwrap();
        let mut zst = vec![0; zstd_safe::compress_bound(bytes.len())];
        let len = zstd_safe::compress(&mut zst[..], bytes, 3).unwrap();
        zst.truncate(len);
        [gz.finish().unwrap(), xz, zst]
    }

    #[test]
    fn every_form_gives_what_went_in() {
        let bytes: Vec<u8> = (0..400_000u32).map(|n| (n.wrapping_mul(n) >> 7) as u8).collect();
        for file in packed(&bytes) {
            assert_eq!(expand(&file, bytes.len()).unwrap().unwrap(), bytes);
            assert!(expand(&file, bytes.len() - 1).unwrap().is_err(), "one byte more than may be");
            assert!(expand(&file[..file.len() / 2], bytes.len()).unwrap().is_err(), "half a file");
        }
        assert!(expand(b"\x7fELF", 100).is_none() && expand(b"", 100).is_none());
    }

    #[test]
    fn a_packed_module_is_read_as_the_one_inside() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("module.ko");
        elf(&plain, &[(".text", 0, b"code"), (".modinfo", 0, b"name=module")]);
        let bytes = std::fs::read(&plain).unwrap();
        for (ending, packed) in ["gz", "xz", "zst"].into_iter().zip(packed(&bytes)) {
            let path = dir.path().join(format!("module.ko.{ending}"));
            std::fs::write(&path, &packed).unwrap();
            let read = Elf::open(&path).unwrap();
            let modinfo = read.section(".modinfo").and_then(|section| read.section_bytes(section));
            assert_eq!((read.path(), modinfo.as_deref()), (path.as_path(), Some(&b"name=module"[..])));
            std::fs::write(&path, &packed[..packed.len() / 2]).unwrap();
            assert!(Elf::open(&path).is_err(), "half of it");
            let other = dir.path().join(format!("module.{ending}"));
            std::fs::write(&other, &packed).unwrap();
            assert!(Elf::open(&other).is_err(), "only modules are expanded");
        }
    }
}
